import{e as k,i as x,n as h,g as S,d as r,t as _,r as p,m as N,l as A,A as u,s as E,o as M,c as T,b as R}from"./index-iF5kxkqc.js";import{h as J,C as W}from"./canvas-DaO1ex7E.js";import{l as b,p as K,n as F,g as z,s as L,w as G,b as I,o as H,a as X,r as Q,t as V}from"./take-CQINWBEi.js";import{t as C}from"./canvas-DS9N_J7d.js";import"./offsets-EgNy2a1f.js";var Y=Object.defineProperty,Z=Object.getOwnPropertyDescriptor,q=(t,e,n,s)=>{for(var i=s>1?void 0:s?Z(e,n):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(i=(s?a(e,n,i):a(i))||i);return s&&i&&Y(e,n,i),i};const tt=["entropy","confidence","margin","threshold","random","edit","ancestral"],et=[{name:"steps",label:"Steps at most",min:1,step:1,own:({sfumato:t})=>t.steps},{name:"canvas_length",label:"Canvas",min:1,step:1,own:({sfumato:t})=>t.canvas_length},{name:"max_tokens",label:"Tokens at most",min:1,step:1,own:({sfumato:t})=>t.max_tokens},{name:"temperature",label:"Temperature",min:0,step:.1,own:()=>null}];let w=class extends S{constructor(){super(...arguments),this.card=null,this.options={}}set(t,e){const n=Object.entries(this.options).filter(([i])=>i!==t),s=Object.fromEntries(e===void 0?n:[...n,[t,e]]);this.dispatchEvent(new CustomEvent("sf-options",{detail:s,bubbles:!0,composed:!0}))}render(){const{card:t}=this;return t===null?r``:r`<div class="fields">
      ${et.map(({name:e,label:n,min:s,step:i,own:o})=>r`<label
          >${n}
          <input
            type="number"
            min=${s}
            step=${i}
            placeholder=${o(t)??"its own"}
            .value=${String(this.options[e]??"")}
            @change=${a=>{const{value:m,valueAsNumber:f}=a.target;this.set(e,m===""||Number.isNaN(f)?void 0:f)}}
        /></label>`)}
      <label
        >Sampler
        <select
          @change=${e=>{const{value:n}=e.target;this.set("sampler",n===""?void 0:n)}}
        >
          <option value="" ?selected=${this.options.sampler===void 0}>its own</option>
          ${tt.map(e=>r`<option value=${e} ?selected=${e===this.options.sampler}>${e}</option>`)}
        </select></label
      >
    </div>`}};w.styles=[k,x`
      .fields {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      input,
      select {
        width: 100%;
      }
    `];q([h({attribute:!1})],w.prototype,"card",2);q([h({attribute:!1})],w.prototype,"options",2);w=q([_("sf-options")],w);var st=Object.defineProperty,it=Object.getOwnPropertyDescriptor,O=(t,e,n,s)=>{for(var i=s>1?void 0:s?it(e,n):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(i=(s?a(e,n,i):a(i))||i);return s&&i&&st(e,n,i),i};const nt=[1,3,10,30];let v=class extends S{constructor(){super(...arguments),this.count=0,this.at=0,this.speed=N("scrubber.speed",3),this.playing=0}disconnectedCallback(){super.disconnectedCallback(),this.pause()}go(t){const e=Math.max(0,Math.min(this.count-1,t));this.dispatchEvent(new CustomEvent("sf-at",{detail:e,bubbles:!0,composed:!0}))}pause(){clearInterval(this.playing),this.playing=0}play(){this.pause(),this.at>=this.count-1&&this.go(0),this.playing=window.setInterval(()=>{this.at>=this.count-1?this.pause():this.go(this.at+1)},1e3/this.speed)}changeSpeed(t){this.speed=Number(t.target.value),A("scrubber.speed",this.speed),this.playing!==0&&this.play()}render(){const t=this.count<2,e=(n,s,i)=>r`<button
        aria-label=${i}
        title=${i}
        ?disabled=${t}
        @click=${()=>{this.pause(),this.go(this.at+n)}}
      >
        ${s}
      </button>`;return r`<div class="row">
      ${e(-this.count,"|◀","First step")} ${e(-1,"◀","Step back")}
      <button
        aria-label=${this.playing===0?"Play":"Pause"}
        title=${this.playing===0?"Play":"Pause"}
        ?disabled=${t}
        @click=${()=>this.playing===0?this.play():this.pause()}
      >
        ${this.playing===0?"▶":"⏸"}
      </button>
      ${e(1,"▶|","Step on")}
      <input
        type="range"
        aria-label="Step"
        min="0"
        max=${Math.max(0,this.count-1)}
        .value=${String(this.at)}
        ?disabled=${t}
        @input=${n=>{this.pause(),this.go(Number(n.target.value))}}
      />
      <output class="figures"
        >${this.count===0?"no steps":`step ${this.at+1} of ${this.count}`}</output
      >
      <select aria-label="Steps a second" @change=${this.changeSpeed}>
        ${nt.map(n=>r`<option value=${n} ?selected=${n===this.speed}>${n}/s</option>`)}
      </select>
    </div>`}};v.styles=[k,x`
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
    `];O([h({type:Number})],v.prototype,"count",2);O([h({type:Number})],v.prototype,"at",2);O([p()],v.prototype,"speed",2);O([p()],v.prototype,"playing",2);v=O([_("sf-scrubber")],v);var ot=Object.defineProperty,at=Object.getOwnPropertyDescriptor,$=(t,e,n,s)=>{for(var i=s>1?void 0:s?at(e,n):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(i=(s?a(e,n,i):a(i))||i);return s&&i&&ot(e,n,i),i};const rt={running:"denoising …",done:"",stopped:"stopped",failed:"failed"};let d=class extends S{constructor(){super(...arguments),this.at=null,this.colouring="confidence",this.active=!1,this.chosen=null,this.pins=[]}render(){const{take:t,at:e}=this,n=b(t),s=e===null?n:t.frames[Math.min(e,t.frames.length-1)]??n,{usage:i}=n.ending,o=i===void 0?[`${s.clock} steps`]:[`${i.completion_tokens} tokens`,`${i.denoising_steps} steps`,`${i.revisions} revisions`,`${(1e3*i.total_s).toFixed(0)} ms`];return r`<article class="card ${this.active?"active":""}" aria-label=${`Seed ${t.seed}`}>
      <header>
        <h2>Seed ${t.seed}</h2>
        <span class="figures">${rt[t.status]}</span>
      </header>
      <sf-canvas
        label=${`Text of seed ${t.seed}`}
        .tokens=${s.tokens}
        .clock=${s.clock}
        .colouring=${this.colouring}
        .interactive=${e===null&&t.status!=="running"}
        .chosen=${this.active?this.chosen:null}
        .pinned=${this.active?K(s.tokens,this.pins):new Set}
      ></sf-canvas>
      ${t.error===null?r`<p class="figures">${o.join(" · ")}</p>`:r`<p class="error">${t.error}</p>`}
    </article>`}};d.styles=[k,x`
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
    `];$([h({attribute:!1})],d.prototype,"take",2);$([h({attribute:!1})],d.prototype,"at",2);$([h()],d.prototype,"colouring",2);$([h({type:Boolean})],d.prototype,"active",2);$([h({attribute:!1})],d.prototype,"chosen",2);$([h({attribute:!1})],d.prototype,"pins",2);d=$([_("sf-take")],d);var lt=Object.defineProperty,pt=Object.getOwnPropertyDescriptor,j=(t,e,n,s)=>{for(var i=s>1?void 0:s?pt(e,n):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(i=(s?a(e,n,i):a(i))||i);return s&&i&&lt(e,n,i),i};let y=class extends S{constructor(){super(...arguments),this.tokens=[],this.pinned=!1,this.editable=!1}send(t){this.dispatchEvent(new CustomEvent("sf-token-action",{detail:t,bubbles:!0,composed:!0}))}write(t){t.preventDefault();const e=new FormData(t.target).get("text");typeof e=="string"&&this.send({kind:"write",text:e})}render(){const[t]=this.tokens;if(t===void 0)return u;const e=this.tokens.map(n=>n.text).join("");return r`<section
      class="card"
      aria-label="Chosen tokens"
      @keydown=${n=>n.key==="Escape"&&this.send({kind:"close"})}
    >
      <header>
        <h2>
          <code>${JSON.stringify(e)}</code>
          ${this.tokens.length>1?r`<span class="muted">${this.tokens.length} tokens</span>`:u}
        </h2>
        <button class="quiet" aria-label="Close" @click=${()=>this.send({kind:"close"})}>✕</button>
      </header>
      ${this.tokens.length===1?this.about(t):u}
      ${this.editable?r`<div class="row">
              <button @click=${()=>this.send({kind:"pin"})}>${this.pinned?"Unpin":"Pin"}</button>
              <button @click=${()=>this.send({kind:"renoise"})}>Back to noise</button>
              <button @click=${()=>this.send({kind:"onwards"})}>Denoise again from here</button>
              <form @submit=${this.write}>
                <input
                  name="text"
                  aria-label="Write instead"
                  placeholder="Write instead …"
                  autocomplete="off"
                />
                <button>Put in</button>
              </form>
            </div>`:u}
    </section>`}about(t){const e=t.alternatives?.top_logprobs??[],n=[t.confidence===null?null:`confidence ${(100*t.confidence).toFixed(1)}%`,t.entropy===null?null:`entropy ${t.entropy.toFixed(2)} nats`,`${t.revisions} ${t.revisions===1?"revision":"revisions"}`].filter(s=>s!==null);return r`<p class="figures">${n.join(" · ")}</p>
      ${t.history.length>1?r`<p><span class="muted">History:</span> <code>${J(t)}</code></p>`:u}
      ${e.length>0?r`<div>
              <p class="muted">What else could stand here:</p>
              <div class="others">
                ${e.map(({token:s,logprob:i})=>r`<button
                      ?disabled=${!this.editable||s===t.text}
                      @click=${()=>this.send({kind:"write",text:s})}
                    >
                      ${JSON.stringify(s).slice(1,-1)||"∅"}
                      <small>${(100*Math.exp(i)).toFixed(1)}%</small>
                    </button>`)}
              </div>
            </div>`:u}`}};y.styles=[k,x`
      .card {
        display: grid;
        gap: 0.75rem;
      }
      header {
        display: flex;
        justify-content: space-between;
        gap: 1rem;
        align-items: start;
      }
      code {
        font-family: var(--mono);
        overflow-wrap: anywhere;
      }
      .others {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .others button {
        font-family: var(--mono);
        padding: 0.2rem 0.5rem;
      }
      .others small {
        color: var(--muted);
        font-family: system-ui, sans-serif;
      }
      p {
        margin: 0;
      }
      form {
        display: flex;
        gap: 0.5rem;
        flex: 1 1 14rem;
      }
      form input {
        flex: 1;
        font-family: var(--mono);
      }
    `];j([h({attribute:!1})],y.prototype,"tokens",2);j([h({type:Boolean})],y.prototype,"pinned",2);j([h({type:Boolean})],y.prototype,"editable",2);y=j([_("sf-token-panel")],y);function ct(t){const e=new TextEncoder().encode(JSON.stringify(t));return`#${btoa(String.fromCharCode(...e)).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}`}function ht(t){if(t.length<2)return null;try{const e=atob(t.slice(1).replaceAll("-","+").replaceAll("_","/")),n=new TextDecoder().decode(Uint8Array.from(e,a=>a.charCodeAt(0))),{seed:s,count:i,...o}=JSON.parse(n);return typeof o.model!="string"||typeof o.prompt!="string"?null:{...o,seed:U(s,0),count:U(i,1)}}catch{return null}}function U(t,e){return typeof t=="number"&&Number.isFinite(t)?t:e}const ut=x`
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
`;var dt=Object.defineProperty,mt=Object.getOwnPropertyDescriptor,c=(t,e,n,s)=>{for(var i=s>1?void 0:s?mt(e,n):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(i=(s?a(e,n,i):a(i))||i);return s&&i&&dt(e,n,i),i};const D=6,ft=1500,gt={confidence:["sure","unsure"],entropy:["one way","many ways"],age:["old","new"],revisions:["as first written","often revised"]};let l=class extends S{constructor(){super(...arguments),this.place="",this.cards=[],this.model=N("canvas.model",""),this.prompt="",this.turns=[],this.options={},this.seed=1,this.count=1,this.colouring=N("canvas.colouring","confidence"),this.takes=[],this.at=null,this.active=0,this.chosen=null,this.pins=[],this.request={},this.stopping=new AbortController,this.openShared=()=>{const t=ht(location.hash);t!==null&&(this.model=t.model,this.prompt=t.prompt,this.turns=t.turns??[],this.options=t.options??{},this.seed=t.seed,this.count=Math.min(D,t.count),this.card===null?E(`This server has no model ${t.model}; choose another one.`):this.run())}}connectedCallback(){super.connectedCallback(),addEventListener("hashchange",this.openShared),this.begin().catch(M)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("hashchange",this.openShared),this.stopping.abort()}async begin(){const t=await T.models();this.cards=t.filter(({capabilities:e})=>e.includes("canvas")),this.cards.some(({id:e})=>e===this.model)||(this.model=this.cards[0]?.id??""),this.prompt||=this.card?.sfumato.kinds[0]?.example??"",this.openShared()}get card(){return this.cards.find(({id:t})=>t===this.model)??null}get isRunning(){return this.takes.some(({status:t})=>t==="running")}get numFrames(){return Math.max(0,...this.takes.map(({frames:t})=>t.length))}run(){if(this.model===""||this.prompt.trim()==="")return;const t={model:this.model,seed:this.seed},e=this.turns.length===0?{prompt:this.prompt}:{messages:[...this.turns,{role:"user",content:this.prompt}]};this.request={...t,...e,...this.options},[this.pins,this.chosen,this.at,this.active]=[[],null,null,0],this.takes=Array.from({length:this.count},(n,s)=>F(this.seed+s)),this.start(this.takes.map((n,s)=>[s,{...this.request,seed:n.seed}]))}start(t){this.stopping.abort(),this.stopping=new AbortController;const{signal:e}=this.stopping;for(const[n,s]of t)this.follow(n,s,e)}async follow(t,e,n){const s=this.takes[t];if(s!==void 0)for await(const i of z(T,s,e,n)){if(n!==this.stopping.signal&&i.status==="running")return;this.takes=this.takes.map((o,a)=>a===t?i:o),i.status==="done"&&!this.isRunning&&this.replay(),i.status==="done"?R(`Seed ${i.seed}: ${C(b(i))}`):i.status==="failed"&&M(new Error(i.error??""))}}replay(){(b(this.takes[0]??F(0)).elapsedMs??1/0)>ft||matchMedia("(prefers-reduced-motion: reduce)").matches||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}act({detail:t}){const e=this.takes[this.active];if(e===void 0||this.chosen===null)return;const n=b(e),[s,i]=this.chosen,o=L(n.tokens,s,i),a=C(n);switch(t.kind){case"close":this.chosen=null;break;case"pin":this.pins=this.isPinned(o)?this.pins.filter(m=>!I(m,o)):[...this.pins,o];break;case"renoise":this.denoise(H([o],a.length));break;case"onwards":this.denoise([[0,o[0]]]);break;case"write":{const m=G(e,s,i,t.text),f=t.text.length-(o[1]-o[0]),B=this.pins.filter(g=>!I(g,o)).map(([g,P])=>g>=o[1]?[g+f,P+f]:[g,P]);this.pins=[...B,[o[0],o[0]+t.text.length]],this.takes=this.takes.map((g,P)=>P===this.active?m:g),this.chosen=null,this.at=null,R("Written; denoise again to have the rest follow.")}}}denoise(t){const e=this.takes[this.active];if(e===void 0)return;const n=C(b(e));[this.chosen,this.at]=[null,null],this.start([[this.active,X(this.request,n,t,e.seed+1e3*e.traces.length)]])}isPinned([t,e]){return this.pins.some(([n,s])=>n<=t&&e<=s)}choose(t,e){const n=e.extends&&this.chosen!==null&&t===this.active,[s,i]=n&&this.chosen!==null?this.chosen:[e.index,e.index+1];this.active=t,this.chosen=[Math.min(s,e.index),Math.max(i,e.index+1)]}reply(){const t=this.takes[this.active];t!==void 0&&(this.turns=[...this.turns,{role:"user",content:this.prompt},{role:"assistant",content:C(b(t))}],[this.prompt,this.takes,this.pins,this.chosen]=["",[],[],null],this.updateComplete.then(()=>this.renderRoot.querySelector("textarea")?.focus()))}async share(){const{model:t,prompt:e,turns:n,options:s,seed:i,count:o}=this,a=ct({model:t,prompt:e,turns:n,options:s,seed:i,count:o});history.replaceState(null,"",a);try{await navigator.clipboard.writeText(location.href),E("The link is copied; it runs the same again.")}catch{E("The link is in the address bar; it runs the same again.")}}export(){const t=this.takes[this.active]?.traces??[],e=URL.createObjectURL(new Blob([JSON.stringify(t)],{type:"application/json"}));Object.assign(document.createElement("a"),{href:e,download:"trace.json"}).click(),URL.revokeObjectURL(e)}async open(t){if(t!==void 0)try{const e=Q(await t.text()),n=V(e);this.stopping.abort(),this.request=e[0]?.request??{},this.prompt=this.request.prompt??this.request.messages?.at(-1)?.content??this.prompt,this.cards.some(({id:s})=>s===this.request.model)&&(this.model=this.request.model??""),[this.takes,this.active,this.at,this.pins,this.chosen]=[[n],0,null,[],null],E(`Opened ${n.frames.length} steps of ${this.request.model??"a model"}.`)}catch(e){M(e)}}render(){return this.cards.length===0?r`<h1>Canvas</h1>
        <p class="muted">
          No model of this server writes on a canvas; start it with one: sfumato serve tiny
        </p>`:r`<div
      class="page"
      @dragover=${t=>t.preventDefault()}
      @drop=${t=>{t.preventDefault(),this.open(t.dataTransfer?.files[0])}}
    >
      <h1>Canvas</h1>
      ${this.form()} ${this.takes.length===0?u:this.result()}
    </div>`}form(){const t=this.card?.sfumato.kinds??[],e=s=>{s.preventDefault(),this.run()},n=(s,i,o)=>Math.max(i,Math.min(o,Math.round(s.target.valueAsNumber||i)));return r`${this.turns.map(({role:s,content:i})=>r`<p class="turn ${s}">${i}</p>`)}
      <form @submit=${e}>
        <label
          >Prompt
          <textarea
            rows=${Math.min(10,Math.max(2,this.prompt.split(`
`).length))}
            .value=${this.prompt}
            @input=${s=>this.prompt=s.target.value}
            @keydown=${s=>{s.key==="Enter"&&(s.ctrlKey||s.metaKey)&&e(s)}}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select
              @change=${s=>{this.model=s.target.value,A("canvas.model",this.model),this.prompt=this.card?.sfumato.kinds[0]?.example??this.prompt,this.options={}}}
            >
              ${this.cards.map(({id:s})=>r`<option value=${s} ?selected=${s===this.model}>${s}</option>`)}
            </select></label
          >
          ${t.length===0?u:r`<label class="model"
                  >Examples
                  <select
                    @change=${s=>{const i=s.target;this.prompt=t[Number(i.value)]?.example??this.prompt,i.value=""}}
                  >
                    <option value="">What it was trained on …</option>
                    ${t.map(({name:s},i)=>r`<option value=${i}>${s.replaceAll("_"," ")}</option>`)}
                  </select></label
                >`}
          <label
            >Seed
            <input
              type="number"
              min="0"
              .value=${String(this.seed)}
              @change=${s=>this.seed=n(s,0,2**31)}
          /></label>
          <label
            >Side by side
            <input
              type="number"
              min="1"
              max=${D}
              .value=${String(this.count)}
              @change=${s=>this.count=n(s,1,D)}
          /></label>
          ${this.isRunning?r`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:r`<button class="primary" title="Ctrl+Enter" ?disabled=${this.prompt.trim()===""}>
                  Denoise
                </button>`}
        </div>
        <details>
          <summary>Options</summary>
          <sf-options
            .card=${this.card}
            .options=${this.options}
            @sf-options=${({detail:s})=>this.options=s}
          ></sf-options>
        </details>
      </form>`}result(){const t=this.takes[this.active],e=t===void 0?[]:b(t).tokens,n=!this.isRunning&&this.at===null&&this.model===this.request.model,[s,i]=this.chosen??[0,0],o=gt[this.colouring];return r`<div class="takes">
        ${this.takes.map((a,m)=>r`<sf-take
              .take=${a}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${m===this.active}
              .chosen=${this.chosen}
              .pins=${this.pins}
              @sf-token=${({detail:f})=>this.choose(m,f)}
            ></sf-take>`)}
      </div>
      <sf-scrubber
        .count=${this.numFrames}
        .at=${this.at??Math.max(0,this.numFrames-1)}
        @sf-at=${({detail:a})=>{this.at=a>=this.numFrames-1?null:a,this.at!==null&&(this.chosen=null)}}
      ></sf-scrubber>
      <div class="row bar">
        <label class="inline"
          >Colour by
          <select
            @change=${a=>{this.colouring=a.target.value,A("canvas.colouring",this.colouring)}}
          >
            ${W.map(a=>r`<option value=${a} ?selected=${a===this.colouring}>${a}</option>`)}
          </select></label
        >
        ${o===void 0?u:r`<span class="legend figures"><span>${o[0]}</span><i></i><span>${o[1]}</span></span>`}
        <span class="row">
          ${this.pins.length>0&&n?r`<button class="primary" @click=${()=>this.denoise(this.pins)}>
                  Denoise all but the pins
                </button>`:u}
          <button ?disabled=${!n} @click=${()=>this.reply()}>Reply</button>
          <button @click=${()=>this.share()}>Share</button>
          <button ?disabled=${(t?.traces.length??0)===0} @click=${()=>this.export()}>Export</button>
          <button
            @click=${()=>this.renderRoot.querySelector("input[type=file]")?.click()}
          >
            Open
          </button>
          <input
            hidden
            type="file"
            accept=".json,application/json"
            aria-label="Trace to open"
            @change=${a=>void this.open(a.target.files?.[0])}
          />
        </span>
      </div>
      ${this.chosen===null?r`<p class="muted">
              Choose a token to see what else could stand there, to pin it, or to change it; Shift chooses
              several.
            </p>`:r`<sf-token-panel
              .tokens=${e.slice(s,i)}
              .pinned=${this.isPinned(L(e,s,i))}
              .editable=${n}
              @sf-token-action=${a=>this.act(a)}
            ></sf-token-panel>`}`}};l.styles=[k,ut];c([h()],l.prototype,"place",2);c([p()],l.prototype,"cards",2);c([p()],l.prototype,"model",2);c([p()],l.prototype,"prompt",2);c([p()],l.prototype,"turns",2);c([p()],l.prototype,"options",2);c([p()],l.prototype,"seed",2);c([p()],l.prototype,"count",2);c([p()],l.prototype,"colouring",2);c([p()],l.prototype,"takes",2);c([p()],l.prototype,"at",2);c([p()],l.prototype,"active",2);c([p()],l.prototype,"chosen",2);c([p()],l.prototype,"pins",2);l=c([_("sf-canvas-page")],l);export{l as CanvasPage};
