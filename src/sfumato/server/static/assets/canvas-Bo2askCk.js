import{E as p,e as b,i as g,n as c,r as w,g as x,A as l,d as u,w as $}from"./index-B3E5B1W5.js";import{e as f,i as v,t as m}from"./offsets-EgNy2a1f.js";import{w as k,h as O}from"./canvas-BqwZnn-S.js";/**
 * @license
 * Copyright 2018 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const d=f(class extends v{constructor(t){if(super(t),t.type!==m.ATTRIBUTE||t.name!=="class"||t.strings?.length>2)throw Error("`classMap()` can only be used in the `class` attribute and must be the only part in the attribute.")}render(t){return" "+Object.keys(t).filter(s=>t[s]).join(" ")+" "}update(t,[s]){if(this.st===void 0){this.st=new Set,t.strings!==void 0&&(this.nt=new Set(t.strings.join(" ").split(/\s/).filter(e=>e!=="")));for(const e in s)s[e]&&!this.nt?.has(e)&&this.st.add(e);return this.render(s)}const n=t.element.classList;for(const e of this.st)e in s||(n.remove(e),this.st.delete(e));for(const e in s){const i=!!s[e];i===this.st.has(e)||this.nt?.has(e)||(i?(n.add(e),this.st.add(e)):(n.remove(e),this.st.delete(e)))}return p}});/**
 * @license
 * Copyright 2018 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const y="important",E=" !"+y,C=f(class extends v{constructor(t){if(super(t),t.type!==m.ATTRIBUTE||t.name!=="style"||t.strings?.length>2)throw Error("The `styleMap` directive must be used in the `style` attribute and must be the only part in the attribute.")}render(t){return Object.keys(t).reduce((s,n)=>{const e=t[n];return e==null?s:s+`${n=n.includes("-")?n:n.replace(/(?:^(webkit|moz|ms|o)|)(?=[A-Z])/g,"-$&").toLowerCase()}:${e};`},"")}update(t,[s]){const{style:n}=t.element;if(this.ft===void 0)return this.ft=new Set(Object.keys(s)),this.render(s);for(const e of this.ft)s[e]==null&&(this.ft.delete(e),e.includes("-")?n.removeProperty(e):n[e]=null);for(const e in s){const i=s[e];if(i!=null){this.ft.add(e);const o=typeof i=="string"&&i.endsWith(E);e.includes("-")||o?n.setProperty(e,o?i.slice(0,-11):i,o?y:""):n[e]=i}}return p}});var M=Object.defineProperty,S=Object.getOwnPropertyDescriptor,a=(t,s,n,e)=>{for(var i=e>1?void 0:e?S(s,n):s,o=t.length-1,h;o>=0;o--)(h=t[o])&&(i=(e?h(s,n,i):h(i))||i);return e&&i&&M(s,n,i),i};const N=["confidence","entropy","age","revisions","none"],A=4,T=4;function _(t,s,n){switch(s){case"confidence":return t.confidence===null?null:1-t.confidence;case"entropy":return t.entropy===null?null:Math.min(1,t.entropy/A);case"age":return n===0?null:1-Math.min(1,(n-t.since)/n);case"revisions":return Math.min(1,t.revisions/T);case"none":return null}}let r=class extends x{constructor(){super(...arguments),this.tokens=[],this.clock=0,this.colouring="confidence",this.interactive=!1,this.chosen=null,this.pinned=new Set,this.label="Canvas",this.focused=0}render(){return u`<div
      part="text"
      class=${d({text:!0,interactive:this.interactive})}
      role=${this.interactive?"listbox":"group"}
      aria-multiselectable=${this.interactive?"true":l}
      aria-label=${this.label}
      @click=${t=>this.choose(t.target,t.shiftKey)}
      @keydown=${this.onKey}
    >${this.tokens.map((t,s)=>this.token(t,s))}</div>`}token(t,s){const n=_(t,this.colouring,this.clock),e=k(this.tokens,s),i={token:!0,noise:t.state==="noise",revised:t.state==="revised"&&t.since===this.clock,pinned:this.pinned.has(s),chosen:this.isChosen(s)};return u`<span
      class=${d(i)}
      style=${C({"--level":n===null?null:n.toFixed(2)})}
      data-index=${s}
      role=${this.interactive?"option":l}
      aria-label=${this.interactive&&t.text.trim()===""?JSON.stringify(t.text):l}
      aria-selected=${this.interactive?String(this.isChosen(s)):l}
      tabindex=${this.interactive?s===Math.min(this.focused,this.tokens.length-1)?0:-1:l}
      title=${e.some(({history:o})=>o.length>1)?O(e):l}
      >${t.text}</span
    >`}isChosen(t){return this.chosen!==null&&t>=this.chosen[0]&&t<this.chosen[1]}choose(t,s){if(!this.interactive||!(t instanceof HTMLElement)||t.dataset.index===void 0)return;const n=Number(t.dataset.index);this.focused=n,this.dispatchEvent(new CustomEvent("sf-token",{detail:{index:n,extends:s},bubbles:!0,composed:!0}))}onKey(t){if(!this.interactive)return;const n={ArrowRight:1,ArrowLeft:-1}[t.key];if(n!==void 0)this.focused=Math.max(0,Math.min(this.tokens.length-1,this.focused+n)),this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-index="${this.focused}"]`)?.focus());else if(t.key==="Enter"||t.key===" ")this.choose(t.target,t.shiftKey);else return;t.preventDefault()}};r.styles=[b,g`
      .text {
        font-family: var(--mono);
        font-size: 0.95rem;
        line-height: 1.7;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        min-height: 1.7em;
      }
      .token {
        border-radius: 3px;
        background: color-mix(in oklab, var(--warm) calc(var(--level, 0) * 55%), transparent);
        transition: background-color calc(var(--motion) * 120ms) linear;
      }
      .noise {
        color: color-mix(in oklab, var(--muted) 60%, transparent);
      }
      .pinned {
        box-shadow: inset 0 -2px var(--accent);
      }
      .chosen {
        outline: 2px solid var(--accent);
      }
      .revised {
        animation: flash calc(var(--motion) * 700ms) ease-out;
        text-decoration: underline
          color-mix(in oklab, currentcolor calc((1 - var(--motion)) * 100%), transparent);
      }
      .interactive .token {
        cursor: pointer;
      }
      .interactive .token:hover {
        outline: 1px solid var(--accent);
      }
      @keyframes flash {
        from {
          background: var(--accent);
          color: var(--on-accent);
        }
      }
    `];a([c({attribute:!1})],r.prototype,"tokens",2);a([c({type:Number})],r.prototype,"clock",2);a([c()],r.prototype,"colouring",2);a([c({type:Boolean})],r.prototype,"interactive",2);a([c({attribute:!1})],r.prototype,"chosen",2);a([c({attribute:!1})],r.prototype,"pinned",2);a([c()],r.prototype,"label",2);a([w()],r.prototype,"focused",2);r=a([$("sf-canvas")],r);export{N as C};
