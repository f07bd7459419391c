import{E as p,e as f,i as v,o as a,r as m,g as y,A as c,d as u,C as b}from"./index-CMMe71eo.js";import{e as x,i as g,t as w}from"./offsets-EgNy2a1f.js";import{o as $}from"./style-map-Dfcu4NBq.js";import{w as k,h as O}from"./canvas-BqwZnn-S.js";/**
 * @license
 * Copyright 2018 Google LLC
 * SPDX-License-Identifier: BSD-3-Clause
 */const d=x(class extends g{constructor(t){if(super(t),t.type!==w.ATTRIBUTE||t.name!=="class"||t.strings?.length>2)throw Error("`classMap()` can only be used in the `class` attribute and must be the only part in the attribute.")}render(t){return" "+Object.keys(t).filter(e=>t[e]).join(" ")+" "}update(t,[e]){if(this.st===void 0){this.st=new Set,t.strings!==void 0&&(this.nt=new Set(t.strings.join(" ").split(/\s/).filter(s=>s!=="")));for(const s in e)e[s]&&!this.nt?.has(s)&&this.st.add(s);return this.render(e)}const i=t.element.classList;for(const s of this.st)s in e||(i.remove(s),this.st.delete(s));for(const s in e){const n=!!e[s];n===this.st.has(s)||this.nt?.has(s)||(n?(i.add(s),this.st.add(s)):(i.remove(s),this.st.delete(s)))}return p}});var C=Object.defineProperty,E=Object.getOwnPropertyDescriptor,r=(t,e,i,s)=>{for(var n=s>1?void 0:s?E(e,i):e,l=t.length-1,h;l>=0;l--)(h=t[l])&&(n=(s?h(e,i,n):h(n))||n);return s&&n&&C(e,i,n),n};const j=["confidence","entropy","age","revisions","none"],M=4,A=4;function S(t,e,i){switch(e){case"confidence":return t.confidence===null?null:1-t.confidence;case"entropy":return t.entropy===null?null:Math.min(1,t.entropy/M);case"age":return i===0?null:1-Math.min(1,(i-t.since)/i);case"revisions":return Math.min(1,t.revisions/A);case"none":return null}}let o=class extends y{constructor(){super(...arguments),this.tokens=[],this.clock=0,this.colouring="confidence",this.interactive=!1,this.chosen=null,this.pinned=new Set,this.label="Canvas",this.focused=0}render(){return u`<div
      part="text"
      class=${d({text:!0,interactive:this.interactive})}
      role=${this.interactive?"listbox":"group"}
      aria-multiselectable=${this.interactive?"true":c}
      aria-label=${this.label}
      @click=${t=>this.choose(t.target,t.shiftKey)}
      @keydown=${this.onKey}
    >${this.tokens.map((t,e)=>this.token(t,e))}</div>`}token(t,e){const i=S(t,this.colouring,this.clock),s=k(this.tokens,e),n={token:!0,noise:t.state==="noise",line:t.text.startsWith(`
`),revised:t.state==="revised"&&t.since===this.clock,pinned:this.pinned.has(e),chosen:this.isChosen(e)};return u`<span
      class=${d(n)}
      style=${$({"--level":i===null?null:i.toFixed(2)})}
      data-index=${e}
      role=${this.interactive?"option":c}
      aria-label=${this.interactive&&t.text.trim()===""?JSON.stringify(t.text):c}
      aria-selected=${this.interactive?String(this.isChosen(e)):c}
      tabindex=${this.interactive?e===Math.min(this.focused,this.tokens.length-1)?0:-1:c}
      title=${s.some(({history:l})=>l.length>1)?O(s):c}
      >${t.text}</span
    >`}isChosen(t){return this.chosen!==null&&t>=this.chosen[0]&&t<this.chosen[1]}choose(t,e){if(!this.interactive||!(t instanceof HTMLElement)||t.dataset.index===void 0)return;const i=Number(t.dataset.index);this.focused=i,this.dispatchEvent(new CustomEvent("sf-token",{detail:{index:i,extends:e},bubbles:!0,composed:!0}))}focusToken(t){this.focused=Math.max(0,Math.min(this.tokens.length-1,t)),this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-index="${this.focused}"]`)?.focus())}onKey(t){if(!this.interactive)return;const i={ArrowRight:1,ArrowLeft:-1}[t.key];if(i!==void 0)this.focusToken(this.focused+i);else if(t.key==="Enter"||t.key===" ")this.choose(t.target,t.shiftKey);else return;t.preventDefault()}};o.styles=[f,v`
      .text {
        font-family: var(--mono);
        font-size: 0.95rem;
        line-height: 1.7;
        white-space: pre-wrap;
        overflow-wrap: anywhere;
        /* Each line in the direction of its own script. */
        unicode-bidi: plaintext;
        min-height: 1.7em;
      }
      .token {
        border-radius: 3px;
        background: color-mix(in oklab, var(--warm) calc(var(--level, 0) * var(--tint)), transparent);
        transition: background-color calc(var(--motion) * 120ms) linear;
      }
      .noise {
        /* A contrast of 3 to 1, even on the full tint. */
        color: color-mix(in oklab, var(--text) 68%, transparent);
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
      /* A line's end has no width to click. */
      .interactive .line::before {
        content: "↵";
        opacity: 0.4;
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
    `];r([a({attribute:!1})],o.prototype,"tokens",2);r([a({type:Number})],o.prototype,"clock",2);r([a()],o.prototype,"colouring",2);r([a({type:Boolean})],o.prototype,"interactive",2);r([a({attribute:!1})],o.prototype,"chosen",2);r([a({attribute:!1})],o.prototype,"pinned",2);r([a()],o.prototype,"label",2);r([m()],o.prototype,"focused",2);o=r([b("sf-canvas")],o);export{j as C};
