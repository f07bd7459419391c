import{e as m,i as d,n as o,r as g,g as f,p as $,o as v,d as u,t as b}from"./index-BtolXjW9.js";import{l as y,p as w}from"./take-e_k57EW5.js";import"./canvas-CWvv-g_X.js";var x=Object.defineProperty,S=Object.getOwnPropertyDescriptor,h=(e,s,a,i)=>{for(var t=i>1?void 0:i?S(s,a):s,r=e.length-1,l;r>=0;r--)(l=e[r])&&(t=(i?l(s,a,t):l(t))||t);return i&&t&&x(s,a,t),t};const _=[1,3,10,30];let p=class extends f{constructor(){super(...arguments),this.count=0,this.at=0,this.speed=$("scrubber.speed",3),this.playing=0}disconnectedCallback(){super.disconnectedCallback(),this.pause()}go(e){const s=Math.max(0,Math.min(this.count-1,e));this.dispatchEvent(new CustomEvent("sf-at",{detail:s,bubbles:!0,composed:!0}))}pause(){clearInterval(this.playing),this.playing=0}play(){this.pause(),this.at>=this.count-1&&this.go(0),this.playing=window.setInterval(()=>{this.at>=this.count-1?this.pause():this.go(this.at+1)},1e3/this.speed)}changeSpeed(e){this.speed=Number(e.target.value),v("scrubber.speed",this.speed),this.playing!==0&&this.play()}render(){const e=this.count<2,s=(a,i,t)=>u`<button
        aria-label=${t}
        title=${t}
        ?disabled=${e}
        @click=${()=>{this.pause(),this.go(this.at+a)}}
      >
        ${i}
      </button>`;return u`<div class="row">
      ${s(-this.count,"|◀","First step")} ${s(-1,"◀","Step back")}
      <button
        aria-label=${this.playing===0?"Play":"Pause"}
        title=${this.playing===0?"Play":"Pause"}
        ?disabled=${e}
        @click=${()=>this.playing===0?this.play():this.pause()}
      >
        ${this.playing===0?"▶":"⏸"}
      </button>
      ${s(1,"▶|","Step on")}
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
      <select aria-label="Steps a second" @change=${this.changeSpeed}>
        ${_.map(a=>u`<option value=${a} ?selected=${a===this.speed}>${a}/s</option>`)}
      </select>
    </div>`}};p.styles=[m,d`
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
    `];h([o({type:Number})],p.prototype,"count",2);h([o({type:Number})],p.prototype,"at",2);h([g()],p.prototype,"speed",2);h([g()],p.prototype,"playing",2);p=h([b("sf-scrubber")],p);var P=Object.defineProperty,k=Object.getOwnPropertyDescriptor,c=(e,s,a,i)=>{for(var t=i>1?void 0:i?k(s,a):s,r=e.length-1,l;r>=0;r--)(l=e[r])&&(t=(i?l(s,a,t):l(t))||t);return i&&t&&P(s,a,t),t};const E={running:"denoising …",done:"",stopped:"stopped",failed:"failed"};let n=class extends f{constructor(){super(...arguments),this.at=null,this.colouring="confidence",this.active=!1,this.chosen=null,this.pins=[]}render(){const{take:e,at:s}=this,a=y(e),i=s===null?a:e.frames[Math.min(s,e.frames.length-1)]??a,{usage:t}=a.ending,r=t===void 0?[`${i.clock} steps`]:[`${t.completion_tokens} tokens`,`${t.denoising_steps} steps`,`${t.revisions} revisions`,`${(1e3*t.total_s).toFixed(0)} ms`];return u`<article class="card ${this.active?"active":""}" aria-label=${`Seed ${e.seed}`}>
      <header>
        <h2>Seed ${e.seed}</h2>
        <span class="figures">${E[e.status]}</span>
      </header>
      <sf-canvas
        label=${`Text of seed ${e.seed}`}
        .tokens=${i.tokens}
        .clock=${i.clock}
        .colouring=${this.colouring}
        .interactive=${s===null&&e.status!=="running"}
        .chosen=${this.active?this.chosen:null}
        .pinned=${this.active?w(i.tokens,this.pins):new Set}
      ></sf-canvas>
      ${e.error===null?u`<p class="figures">${r.join(" · ")}</p>`:u`<p class="error">${e.error}</p>`}
    </article>`}};n.styles=[m,d`
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
    `];c([o({attribute:!1})],n.prototype,"take",2);c([o({attribute:!1})],n.prototype,"at",2);c([o()],n.prototype,"colouring",2);c([o({type:Boolean})],n.prototype,"active",2);c([o({attribute:!1})],n.prototype,"chosen",2);c([o({attribute:!1})],n.prototype,"pins",2);n=c([b("sf-take")],n);const C=d`
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
  .legend {
    display: inline-flex;
    gap: 0.5rem;
    align-items: center;
  }
  .legend i {
    width: 5rem;
    height: 0.7rem;
    border-radius: 3px;
    border: 1px solid var(--line);
    background: linear-gradient(to right, transparent, color-mix(in oklab, var(--warm) 55%, transparent));
  }
  .bar {
    justify-content: space-between;
    align-items: center;
  }
  .bar > label {
    flex: none;
  }
`;export{C as p};
