import{i as m,e as v,o as p,g as b,A as f,d as o,C as $,r as _,v as S,u as O,z as E}from"./index-CMMe71eo.js";import{C}from"./canvas-DwdqAIXd.js";import{h as g,l as k,i as w,c as x,p as j}from"./take-R79uc_On.js";import{t as D}from"./canvas-BqwZnn-S.js";import"./examples-Vs3VEqa4.js";const J=m`
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
  p {
    margin: 0;
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
`;var N=Object.defineProperty,T=Object.getOwnPropertyDescriptor,P=(e,s,r,a)=>{for(var t=a>1?void 0:a?T(s,r):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(a?n(s,r,t):n(t))||t);return a&&t&&N(s,r,t),t};const I={confidence:["sure","unsure"],entropy:["one option","many options"],age:["old","new"],revisions:["never revised","often revised"]};let d=class extends b{constructor(){super(...arguments),this.value="confidence"}choose(e){const s=e.target.value;this.dispatchEvent(new CustomEvent("sf-colouring",{detail:s,bubbles:!0,composed:!0}))}render(){const e=I[this.value];return o`<label class="inline"
        >Colour by
        <select @change=${this.choose}>
          ${C.map(s=>o`<option .selected=${s===this.value}>${s}</option>`)}
        </select></label
      >
      ${e===void 0?f:o`<span class="figures"><span>${e[0]}</span><i></i><span>${e[1]}</span></span>`}`}};d.styles=[v,m`
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
        background: linear-gradient(
          to right,
          transparent,
          color-mix(in oklab, var(--warm) var(--tint), transparent)
        );
      }
    `];P([p()],d.prototype,"value",2);d=P([$("sf-colouring")],d);var M=Object.defineProperty,z=Object.getOwnPropertyDescriptor,h=(e,s,r,a)=>{for(var t=a>1?void 0:a?z(s,r):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(a?n(s,r,t):n(t))||t);return a&&t&&M(s,r,t),t};const A=[1,3,10,30];let u=class extends b{constructor(){super(...arguments),this.frames=[],this.at=0,this.speed=S("scrubber.speed",3),this.playing=0}disconnectedCallback(){super.disconnectedCallback(),this.pause()}get count(){return this.frames.length}go(e){const s=Math.max(0,Math.min(this.count-1,e));this.dispatchEvent(new CustomEvent("sf-at",{detail:s,bubbles:!0,composed:!0}))}pause(){clearInterval(this.playing),this.playing=0}play(e=1/0){this.pause(),this.at>=this.count-1&&this.go(0),this.playing=window.setInterval(()=>{this.at>=this.count-1?this.pause():this.go(this.at+1)},1e3/Math.max(this.speed,this.count/e))}changeSpeed(e){this.speed=Number(e.target.value),O("scrubber.speed",this.speed),this.playing!==0&&this.play()}render(){const e=this.count<2,s=(r,a,t)=>o`<button
        aria-label=${t}
        title=${t}
        ?disabled=${e}
        @click=${()=>{this.pause(),this.go(this.at+r)}}
      >
        ${a}
      </button>`;return o`<div class="row">
      ${s(-this.count,"|◀","First step")} ${s(-1,"◂","Previous step")}
      <button
        aria-label=${this.playing===0?"Play":"Pause"}
        title=${this.playing===0?"Play":"Pause"}
        ?disabled=${e}
        @click=${()=>this.playing===0?this.play():this.pause()}
      >
        ${this.playing===0?"▶":"❚❚"}
      </button>
      ${s(1,"▸","Next step")} ${s(this.count,"▶|","Last step")}
      <input
        type="range"
        aria-label="Step"
        min="0"
        max=${Math.max(0,this.count-1)}
        .value=${String(this.at)}
        ?disabled=${e}
        @input=${r=>{this.pause(),this.go(Number(r.target.value))}}
      />
      <span class="figures"
        >${this.count===0?"no steps":`step ${g(this.frames,this.at)} of ${g(this.frames)}`}</span
      >
      <select aria-label="Steps per second" @change=${this.changeSpeed}>
        ${A.map(r=>o`<option value=${r} .selected=${r===this.speed}>${r}/s</option>`)}
      </select>
    </div>`}};u.styles=[v,m`
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
      .figures {
        min-width: 5.5rem;
        text-align: right;
      }
      @media (max-width: 40rem) {
        .row {
          flex-wrap: wrap;
          gap: 0.25rem;
        }
        button {
          min-width: 2rem;
          padding-inline: 0.25rem;
        }
        .figures {
          flex: 1;
          min-width: 0;
        }
        input[type="range"] {
          order: -1;
          flex-basis: 100%;
        }
      }
    `];h([p({attribute:!1})],u.prototype,"frames",2);h([p({type:Number})],u.prototype,"at",2);h([_()],u.prototype,"speed",2);h([_()],u.prototype,"playing",2);u=h([$("sf-scrubber")],u);var F=Object.defineProperty,G=Object.getOwnPropertyDescriptor,c=(e,s,r,a)=>{for(var t=a>1?void 0:a?G(s,r):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(t=(a?n(s,r,t):n(t))||t);return a&&t&&F(s,r,t),t};const L={running:"denoising …",done:"",stopped:"stopped",failed:"failed"};let l=class extends b{constructor(){super(...arguments),this.at=null,this.colouring="confidence",this.active=!1,this.chosen=null,this.pins=[],this.kinds=[]}focusToken(e){this.renderRoot.querySelector("sf-canvas")?.focusToken(e)}render(){const{take:e,at:s}=this,r=k(e),a=s===null?r:e.frames[Math.min(s,e.frames.length-1)]??r,{usage:t}=r.ending,i=e.status==="done"&&D(r)==="",n=t===void 0?[w(g(e.frames,s??void 0))]:[x(t.completion_tokens,"token"),w(t.denoising_steps),x(t.revisions,"revision"),`${(1e3*t.total_s).toFixed(0)} ms`],y=e.error===null?f:o`<p class="error">${E(e.error)}</p>
            <sf-examples .kinds=${this.kinds}></sf-examples>`;return e.error!==null&&a.tokens.length===0?o`<article class="card" aria-label=${`Seed ${e.seed}`}>
        <header><h2>Seed ${e.seed}</h2></header>
        ${y}
      </article>`:o`<article class="card ${this.active?"active":""}" aria-label=${`Seed ${e.seed}`}>
      <header>
        <h2>Seed ${e.seed}</h2>
        <span class="figures">${L[e.status]}</span>
      </header>
      <sf-canvas
        label=${`Text of seed ${e.seed}`}
        .tokens=${a.tokens}
        .clock=${a.clock}
        .colouring=${this.colouring}
        .interactive=${s===null&&e.status!=="running"}
        .chosen=${this.active?this.chosen:null}
        .pinned=${j(a.tokens,this.pins)}
      ></sf-canvas>
      ${e.error===null?o`${i?o`<p class="muted">The model wrote nothing.</p>`:f}
              <p class="figures">${n.join(" · ")}</p>`:y}
    </article>`}};l.styles=[v,m`
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
    `];c([p({attribute:!1})],l.prototype,"take",2);c([p({attribute:!1})],l.prototype,"at",2);c([p()],l.prototype,"colouring",2);c([p({type:Boolean})],l.prototype,"active",2);c([p({attribute:!1})],l.prototype,"chosen",2);c([p({attribute:!1})],l.prototype,"pins",2);c([p({attribute:!1})],l.prototype,"kinds",2);l=c([$("sf-take")],l);export{J as p};
