import{E as p,e as b,i as g,n as c,r as w,g as x,d as u,A as l,t as $}from"./index-BtolXjW9.js";import{e as f,i as v,t as m}from"./offsets-EgNy2a1f.js";import{w as k,h as O}from"./canvas-BqwZnn-S.js";/**
 * @license
 * Copyright 2018 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const d=f(class extends v{constructor(e){if(super(e),e.type!==m.ATTRIBUTE||e.name!=="class"||e.strings?.length>2)throw Error("`classMap()` can only be used in the `class` attribute and must be the only part in the attribute.")}render(e){return" "+Object.keys(e).filter(s=>e[s]).join(" ")+" "}update(e,[s]){if(this.st===void 0){this.st=new Set,e.strings!==void 0&&(this.nt=new Set(e.strings.join(" ").split(/\s/).filter(t=>t!=="")));for(const t in s)s[t]&&!this.nt?.has(t)&&this.st.add(t);return this.render(s)}const n=e.element.classList;for(const t of this.st)t in s||(n.remove(t),this.st.delete(t));for(const t in s){const i=!!s[t];i===this.st.has(t)||this.nt?.has(t)||(i?(n.add(t),this.st.add(t)):(n.remove(t),this.st.delete(t)))}return p}});/**
 * @license
 * Copyright 2018 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const y="important",E=" !"+y,C=f(class extends v{constructor(e){if(super(e),e.type!==m.ATTRIBUTE||e.name!=="style"||e.strings?.length>2)throw Error("The `styleMap` directive must be used in the `style` attribute and must be the only part in the attribute.")}render(e){return Object.keys(e).reduce((s,n)=>{const t=e[n];return t==null?s:s+`${n=n.includes("-")?n:n.replace(/(?:^(webkit|moz|ms|o)|)(?=[A-Z])/g,"-$&").toLowerCase()}:${t};`},"")}update(e,[s]){const{style:n}=e.element;if(this.ft===void 0)return this.ft=new Set(Object.keys(s)),this.render(s);for(const t of this.ft)s[t]==null&&(this.ft.delete(t),t.includes("-")?n.removeProperty(t):n[t]=null);for(const t in s){const i=s[t];if(i!=null){this.ft.add(t);const o=typeof i=="string"&&i.endsWith(E);t.includes("-")||o?n.setProperty(t,o?i.slice(0,-11):i,o?y:""):n[t]=i}}return p}});var M=Object.defineProperty,S=Object.getOwnPropertyDescriptor,a=(e,s,n,t)=>{for(var i=t>1?void 0:t?S(s,n):s,o=e.length-1,h;o>=0;o--)(h=e[o])&&(i=(t?h(s,n,i):h(i))||i);return t&&i&&M(s,n,i),i};const N=["confidence","entropy","age","revisions","none"],A=4,T=4;function _(e,s,n){switch(s){case"confidence":return e.confidence===null?null:1-e.confidence;case"entropy":return e.entropy===null?null:Math.min(1,e.entropy/A);case"age":return n===0?null:1-Math.min(1,(n-e.since)/n);case"revisions":return Math.min(1,e.revisions/T);case"none":return null}}let r=class extends x{constructor(){super(...arguments),this.tokens=[],this.clock=0,this.colouring="confidence",this.interactive=!1,this.chosen=null,this.pinned=new Set,this.label="Canvas",this.focused=0}render(){return u`<div
      part="text"
      class=${d({text:!0,interactive:this.interactive})}
      role=${this.interactive?"listbox":"group"}
      aria-label=${this.label}
      @click=${e=>this.choose(e.target,e.shiftKey)}
      @keydown=${this.onKey}
    >${this.tokens.map((e,s)=>this.token(e,s))}</div>`}token(e,s){const n=_(e,this.colouring,this.clock),t=k(this.tokens,s),i={token:!0,noise:e.state==="noise",revised:e.state==="revised"&&e.since===this.clock,pinned:this.pinned.has(s),chosen:this.isChosen(s)};return u`<span
      class=${d(i)}
      style=${C({"--level":n===null?null:n.toFixed(2)})}
      data-index=${s}
      role=${this.interactive?"option":l}
      aria-label=${this.interactive&&e.text.trim()===""?JSON.stringify(e.text):l}
      aria-selected=${this.interactive?String(this.isChosen(s)):l}
      tabindex=${this.interactive?s===this.focused?0:-1:l}
      title=${t.some(({history:o})=>o.length>1)?O(t):l}
      >${e.text}</span
    >`}isChosen(e){return this.chosen!==null&&e>=this.chosen[0]&&e<this.chosen[1]}choose(e,s){if(!this.interactive||!(e instanceof HTMLElement)||e.dataset.index===void 0)return;const n=Number(e.dataset.index);this.focused=n,this.dispatchEvent(new CustomEvent("sf-token",{detail:{index:n,extends:s},bubbles:!0,composed:!0}))}onKey(e){if(!this.interactive)return;const n={ArrowRight:1,ArrowLeft:-1}[e.key];if(n!==void 0)this.focused=Math.max(0,Math.min(this.tokens.length-1,this.focused+n)),this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-index="${this.focused}"]`)?.focus());else if(e.key==="Enter"||e.key===" ")this.choose(e.target,e.shiftKey);else return;e.preventDefault()}};r.styles=[b,g`
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
        transition: background-color 120ms linear;
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
        animation: flash 700ms ease-out;
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
      @media (prefers-reduced-motion: reduce) {
        .token {
          transition: none;
        }
        .revised {
          animation: none;
          text-decoration: underline;
        }
      }
    `];a([c({attribute:!1})],r.prototype,"tokens",2);a([c({type:Number})],r.prototype,"clock",2);a([c()],r.prototype,"colouring",2);a([c({type:Boolean})],r.prototype,"interactive",2);a([c({attribute:!1})],r.prototype,"chosen",2);a([c({attribute:!1})],r.prototype,"pinned",2);a([c()],r.prototype,"label",2);a([w()],r.prototype,"focused",2);r=a([$("sf-canvas")],r);export{N as C};
