import{e as g,i as m,n as p,g as f,A as b,d as o,w as v,r as $,s as w,q as x}from"./index-B3E5B1W5.js";import{C as _}from"./canvas-Bo2askCk.js";import{t as P}from"./canvas-BqwZnn-S.js";import{l as O,p as S}from"./take-Cb18_Fsc.js";var E=Object.defineProperty,C=Object.getOwnPropertyDescriptor,y=(e,s,a,r)=>{for(var t=r>1?void 0:r?C(s,a):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(r?n(s,a,t):n(t))||t);return r&&t&&E(s,a,t),t};const j={confidence:["sure","unsure"],entropy:["one option","many options"],age:["old","new"],revisions:["never revised","often revised"]};let d=class extends f{constructor(){super(...arguments),this.value="confidence"}choose(e){const s=e.target.value;this.dispatchEvent(new CustomEvent("sf-colouring",{detail:s,bubbles:!0,composed:!0}))}render(){const e=j[this.value];return o`<label class="inline"
        >Colour by
        <select @change=${this.choose}>
          ${_.map(s=>o`<option .selected=${s===this.value}>${s}</option>`)}
        </select></label
      >
      ${e===void 0?b:o`<span class="figures"><span>${e[0]}</span><i></i><span>${e[1]}</span></span>`}`}};d.styles=[g,m`
      :host {
        display: flex;
        flex-wrap: wrap;
        gap: 0.25rem 0.9rem;
      }
      .figures {
        display: inline-flex;
        gap: 0.5rem;
        align-items: center;
      }
      i {
        width: 5rem;
        height: 0.7rem;
        border-radius: 3px;
        border: 1px solid var(--line);
        background: linear-gradient(to right, transparent, color-mix(in oklab, var(--warm) 55%, transparent));
      }
    `];y([p()],d.prototype,"value",2);d=y([v("sf-colouring")],d);var N=Object.defineProperty,D=Object.getOwnPropertyDescriptor,h=(e,s,a,r)=>{for(var t=r>1?void 0:r?D(s,a):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(r?n(s,a,t):n(t))||t);return r&&t&&N(s,a,t),t};const I=[1,3,10,30];let c=class extends f{constructor(){super(...arguments),this.count=0,this.at=0,this.speed=w("scrubber.speed",3),this.playing=0}disconnectedCallback(){super.disconnectedCallback(),this.pause()}go(e){const s=Math.max(0,Math.min(this.count-1,e));this.dispatchEvent(new CustomEvent("sf-at",{detail:s,bubbles:!0,composed:!0}))}pause(){clearInterval(this.playing),this.playing=0}play(e=1/0){this.pause(),this.at>=this.count-1&&this.go(0),this.playing=window.setInterval(()=>{this.at>=this.count-1?this.pause():this.go(this.at+1)},1e3/Math.max(this.speed,this.count/e))}changeSpeed(e){this.speed=Number(e.target.value),x("scrubber.speed",this.speed),this.playing!==0&&this.play()}render(){const e=this.count<2,s=(a,r,t)=>o`<button
        aria-label=${t}
        title=${t}
        ?disabled=${e}
        @click=${()=>{this.pause(),this.go(this.at+a)}}
      >
        ${r}
      </button>`;return o`<div class="row">
      ${s(-this.count,"|◀","First step")} ${s(-1,"◀","Previous step")}
      <button
        aria-label=${this.playing===0?"Play":"Pause"}
        title=${this.playing===0?"Play":"Pause"}
        ?disabled=${e}
        @click=${()=>this.playing===0?this.play():this.pause()}
      >
        ${this.playing===0?"▶":"❚❚"}
      </button>
      ${s(1,"▶|","Next step")}
      <input
        type="range"
        aria-label="Step"
        min="0"
        max=${Math.max(0,this.count-1)}
        .value=${String(this.at)}
        ?disabled=${e}
        @input=${a=>{this.pause(),this.go(Number(a.target.value))}}
      />
      <output class="figures"
        >${this.count===0?"no steps":`step ${this.at+1} of ${this.count}`}</output
      >
      <select aria-label="Steps per second" @change=${this.changeSpeed}>
        ${I.map(a=>o`<option value=${a} .selected=${a===this.speed}>${a}/s</option>`)}
      </select>
    </div>`}};c.styles=[g,m`
      .row {
        flex-wrap: nowrap;
      }
      input[type="range"] {
        flex: 1;
        min-width: 4rem;
      }
      button {
        min-width: 2.4rem;
        padding-inline: 0.5rem;
      }
      output {
        min-width: 5.5rem;
        text-align: right;
      }
      @media (max-width: 40rem) {
        .row {
          flex-wrap: wrap;
        }
        input[type="range"] {
          order: -1;
          flex-basis: 100%;
        }
      }
    `];h([p({type:Number})],c.prototype,"count",2);h([p({type:Number})],c.prototype,"at",2);h([$()],c.prototype,"speed",2);h([$()],c.prototype,"playing",2);c=h([v("sf-scrubber")],c);var M=Object.defineProperty,k=Object.getOwnPropertyDescriptor,u=(e,s,a,r)=>{for(var t=r>1?void 0:r?k(s,a):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(r?n(s,a,t):n(t))||t);return r&&t&&M(s,a,t),t};const T={running:"denoising …",done:"",stopped:"stopped",failed:"failed"};let l=class extends f{constructor(){super(...arguments),this.at=null,this.colouring="confidence",this.active=!1,this.chosen=null,this.pins=[]}render(){const{take:e,at:s}=this,a=O(e),r=s===null?a:e.frames[Math.min(s,e.frames.length-1)]??a,{usage:t}=a.ending,i=e.status==="done"&&P(a)==="",n=t===void 0?[`${r.clock} steps`]:[`${t.completion_tokens} tokens`,`${t.denoising_steps} steps`,`${t.revisions} revisions`,`${(1e3*t.total_s).toFixed(0)} ms`];return o`<article class="card ${this.active?"active":""}" aria-label=${`Seed ${e.seed}`}>
      <header>
        <h2>Seed ${e.seed}</h2>
        <span class="figures">${T[e.status]}</span>
      </header>
      <sf-canvas
        label=${`Text of seed ${e.seed}`}
        .tokens=${r.tokens}
        .clock=${r.clock}
        .colouring=${this.colouring}
        .interactive=${s===null&&e.status!=="running"}
        .chosen=${this.active?this.chosen:null}
        .pinned=${this.active?S(r.tokens,this.pins):new Set}
      ></sf-canvas>
      ${e.error===null?o`${i?o`<p class="muted">The model wrote nothing.</p>`:b}
              <p class="figures">${n.join(" · ")}</p>`:o`<p class="error">${e.error}</p>`}
    </article>`}};l.styles=[g,m`
      article {
        display: grid;
        grid-template-rows: auto 1fr auto;
        gap: 0.5rem;
        min-width: 0;
      }
      article.active {
        border-color: var(--accent);
      }
      article header {
        display: flex;
        flex-wrap: wrap;
        justify-content: space-between;
        gap: 0.5rem;
        align-items: center;
      }
      article h2 {
        margin: 0;
      }
      sf-canvas {
        min-height: 7em;
      }
      p {
        margin: 0;
      }
    `];u([p({attribute:!1})],l.prototype,"take",2);u([p({attribute:!1})],l.prototype,"at",2);u([p()],l.prototype,"colouring",2);u([p({type:Boolean})],l.prototype,"active",2);u([p({attribute:!1})],l.prototype,"chosen",2);u([p({attribute:!1})],l.prototype,"pins",2);l=u([v("sf-take")],l);const q=m`
  :host,
  .page,
  form {
    display: grid;
    gap: 0.9rem;
    grid-template-columns: minmax(0, 1fr);
  }
  form {
    gap: 0.6rem;
  }
  textarea {
    font-family: var(--mono);
    resize: vertical;
    width: 100%;
  }
  .row {
    align-items: end;
  }
  .row > label {
    flex: 0 1 9rem;
  }
  .row > label.model {
    flex: 1 1 9rem;
  }
  .takes {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr));
    gap: 0.75rem;
  }
  .turn {
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    margin: 0;
    padding: 0.5rem 0.75rem;
    border-left: 3px solid var(--line);
    font-family: var(--mono);
    font-size: 0.9rem;
  }
  .turn.user {
    border-color: var(--accent);
  }
  .bar {
    justify-content: space-between;
    align-items: center;
  }
  .bar > label {
    flex: none;
  }
`;export{q as p};
