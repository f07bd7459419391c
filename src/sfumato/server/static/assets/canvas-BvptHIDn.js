import{e as O,i as T,n as v,g as _,d as r,t as C,A as p,p as P,s as y,q as x,c as j,b as q,o as M,r as c}from"./index-BtolXjW9.js";import{C as L}from"./canvas-CWvv-g_X.js";import{p as U}from"./canvas-styles-ooPMKL7q.js";import{h as J,t as k}from"./canvas-BqwZnn-S.js";import{n as A,g as W,l as f,s as D,d as B,c as N,o as I,a as K,r as H,t as G}from"./take-e_k57EW5.js";import"./offsets-EgNy2a1f.js";var X=Object.defineProperty,z=Object.getOwnPropertyDescriptor,E=(t,e,i,s)=>{for(var n=s>1?void 0:s?z(e,i):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&X(e,i,n),n};const Q=["entropy","confidence","margin","threshold","random","edit","ancestral"],V=[{name:"steps",label:"Steps at most",min:1,step:1,own:({sfumato:t})=>t.steps},{name:"canvas_length",label:"Canvas",min:1,step:1,own:({sfumato:t})=>t.canvas_length},{name:"max_tokens",label:"Tokens at most",min:1,step:1,own:({sfumato:t})=>t.max_tokens},{name:"temperature",label:"Temperature",min:0,step:.1,own:()=>null}];let g=class extends _{constructor(){super(...arguments),this.card=null,this.options={}}set(t,e){const i=Object.entries(this.options).filter(([n])=>n!==t),s=Object.fromEntries(e===void 0?i:[...i,[t,e]]);this.dispatchEvent(new CustomEvent("sf-options",{detail:s,bubbles:!0,composed:!0}))}render(){const{card:t}=this;return t===null?r``:r`<div class="fields">
      ${V.map(({name:e,label:i,min:s,step:n,own:o})=>r`<label
          >${i}
          <input
            type="number"
            min=${s}
            step=${n}
            placeholder=${o(t)??"its own"}
            .value=${String(this.options[e]??"")}
            @change=${a=>{const{value:u,valueAsNumber:d}=a.target;this.set(e,u===""||Number.isNaN(d)?void 0:d)}}
        /></label>`)}
      <label
        >Sampler
        <select
          @change=${e=>{const{value:i}=e.target;this.set("sampler",i===""?void 0:i)}}
        >
          <option value="" ?selected=${this.options.sampler===void 0}>its own</option>
          ${Q.map(e=>r`<option value=${e} ?selected=${e===this.options.sampler}>${e}</option>`)}
        </select></label
      >
    </div>`}};g.styles=[O,T`
      .fields {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      input,
      select {
        width: 100%;
      }
    `];E([v({attribute:!1})],g.prototype,"card",2);E([v({attribute:!1})],g.prototype,"options",2);g=E([C("sf-options")],g);var Y=Object.defineProperty,Z=Object.getOwnPropertyDescriptor,w=(t,e,i,s)=>{for(var n=s>1?void 0:s?Z(e,i):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&Y(e,i,n),n};let b=class extends _{constructor(){super(...arguments),this.tokens=[],this.pinned=!1,this.editable=!1}send(t){this.dispatchEvent(new CustomEvent("sf-token-action",{detail:t,bubbles:!0,composed:!0}))}write(t){t.preventDefault();const e=new FormData(t.target).get("text");typeof e=="string"&&this.send({kind:"write",text:e})}render(){const[t]=this.tokens;if(t===void 0)return p;const e=this.tokens.map(i=>i.text).join("");return r`<section
      class="card"
      aria-label="Chosen tokens"
      @keydown=${i=>i.key==="Escape"&&this.send({kind:"close"})}
    >
      <header>
        <h2>
          <code>${JSON.stringify(e)}</code>
          ${this.tokens.length>1?r`<span class="muted">${this.tokens.length} tokens</span>`:p}
        </h2>
        <button class="quiet" aria-label="Close" @click=${()=>this.send({kind:"close"})}>✕</button>
      </header>
      ${this.tokens.some(({history:i})=>i.length>1)?r`<p><span class="muted">History:</span> <code>${J(this.tokens)}</code></p>`:p}
      ${this.tokens.length===1?this.about(t):p}
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
            </div>`:p}
    </section>`}about(t){const e=t.alternatives?.top_logprobs??[],i=[t.confidence===null?null:`confidence ${(100*t.confidence).toFixed(1)}%`,t.entropy===null?null:`entropy ${t.entropy.toFixed(2)} nats`,`${t.revisions} ${t.revisions===1?"revision":"revisions"}`].filter(s=>s!==null);return r`<p class="figures">${i.join(" · ")}</p>
      ${e.length>0?r`<div>
              <p class="muted">What else could stand here:</p>
              <div class="others">
                ${e.map(({token:s,logprob:n})=>r`<button
                      ?disabled=${!this.editable||s===t.text}
                      @click=${()=>this.send({kind:"write",text:s})}
                    >
                      ${JSON.stringify(s).slice(1,-1)||"∅"}
                      <small>${(100*Math.exp(n)).toFixed(1)}%</small>
                    </button>`)}
              </div>
            </div>`:p}`}};b.styles=[O,T`
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
    `];w([v({attribute:!1})],b.prototype,"tokens",2);w([v({type:Boolean})],b.prototype,"pinned",2);w([v({type:Boolean})],b.prototype,"editable",2);b=w([C("sf-token-panel")],b);function tt(t){const e=new TextEncoder().encode(JSON.stringify(t));return`#${btoa(String.fromCharCode(...e)).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}`}function et(t){if(t.length<2)return null;try{const e=atob(t.slice(1).replaceAll("-","+").replaceAll("_","/")),i=new TextDecoder().decode(Uint8Array.from(e,a=>a.charCodeAt(0))),{seed:s,count:n,...o}=JSON.parse(i);return typeof o.model!="string"||typeof o.prompt!="string"?null:{...o,seed:R(s,0),count:R(n,1)}}catch{return null}}function R(t,e){return typeof t=="number"&&Number.isFinite(t)?t:e}var st=Object.defineProperty,nt=Object.getOwnPropertyDescriptor,h=(t,e,i,s)=>{for(var n=s>1?void 0:s?nt(e,i):e,o=t.length-1,a;o>=0;o--)(a=t[o])&&(n=(s?a(e,i,n):a(n))||n);return s&&n&&st(e,i,n),n};const S=6,it=1500,ot={confidence:["sure","unsure"],entropy:["one way","many ways"],age:["old","new"],revisions:["as first written","often revised"]};let l=class extends _{constructor(){super(...arguments),this.place="",this.cards=[],this.model=P("canvas.model",""),this.prompt="",this.turns=[],this.options={},this.seed=1,this.count=1,this.colouring=P("canvas.colouring","confidence"),this.takes=[],this.at=null,this.active=0,this.chosen=null,this.pins=[],this.request={},this.stopping=new AbortController,this.openShared=()=>{const t=et(location.hash);t!==null&&(this.model=t.model,this.prompt=t.prompt,this.turns=t.turns??[],this.options=t.options??{},this.seed=t.seed,this.count=Math.min(S,t.count),this.card===null?y(`This server has no model ${t.model}; choose another one.`):this.run())}}connectedCallback(){super.connectedCallback(),addEventListener("hashchange",this.openShared),this.begin().catch(x)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("hashchange",this.openShared),this.stopping.abort()}async begin(){const t=await j.models();this.cards=t.filter(({capabilities:e})=>e.includes("canvas")),this.cards.some(({id:e})=>e===this.model)||(this.model=this.cards[0]?.id??""),this.prompt||=this.card?.sfumato.kinds[0]?.example??"",this.openShared()}get card(){return this.cards.find(({id:t})=>t===this.model)??null}get isRunning(){return this.takes.some(({status:t})=>t==="running")}get numFrames(){return Math.max(0,...this.takes.map(({frames:t})=>t.length))}run(){if(this.model===""||this.prompt.trim()==="")return;const t={model:this.model,seed:this.seed},e=this.turns.length===0?{prompt:this.prompt}:{messages:[...this.turns,{role:"user",content:this.prompt}]};this.request={...t,...e,...this.options},[this.pins,this.chosen,this.at,this.active]=[[],null,null,0],this.takes=Array.from({length:this.count},(i,s)=>A(this.seed+s)),this.start(this.takes.map((i,s)=>[s,{...this.request,seed:i.seed}]))}start(t){this.stopping.abort(),this.stopping=new AbortController;const{signal:e}=this.stopping;for(const[i,s]of t)this.follow(i,s,e)}async follow(t,e,i){const s=this.takes[t];if(s!==void 0)for await(const n of W(j,s,e,i)){if(i!==this.stopping.signal&&n.status==="running")return;this.takes=this.takes.map((o,a)=>a===t?n:o),n.status==="done"&&!this.isRunning&&this.replay(),n.status==="done"?q(`Seed ${n.seed}: ${k(f(n))}`):n.status==="failed"&&x(new Error(n.error??""))}}replay(){(f(this.takes[0]??A(0)).elapsedMs??1/0)>it||matchMedia("(prefers-reduced-motion: reduce)").matches||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}act({detail:t}){const e=this.takes[this.active];if(e===void 0||this.chosen===null)return;const i=f(e),[s,n]=this.chosen,o=D(i.tokens,s,n),a=k(i);switch(t.kind){case"close":this.chosen=null;break;case"pin":this.pins=this.isPinned(o)?this.pins.filter(u=>!N(u,o)):[...this.pins,o];break;case"renoise":this.denoise(I([o],a.length));break;case"onwards":this.denoise([[0,o[0]]]);break;case"write":{const u=B(e,s,n,t.text),d=t.text.length-(o[1]-o[0]),F=this.pins.filter(m=>!N(m,o)).map(([m,$])=>m>=o[1]?[m+d,$+d]:[m,$]);this.pins=[...F,[o[0],o[0]+t.text.length]],this.takes=this.takes.map((m,$)=>$===this.active?u:m),this.chosen=null,this.at=null,q("Written; denoise again to have the rest follow.")}}}denoise(t){const e=this.takes[this.active];if(e===void 0)return;const i=k(f(e));[this.chosen,this.at]=[null,null],this.start([[this.active,K(this.request,i,t,e.seed+1e3*e.traces.length)]])}isPinned([t,e]){return this.pins.some(([i,s])=>i<=t&&e<=s)}choose(t,e){const i=e.extends&&this.chosen!==null&&t===this.active,[s,n]=i&&this.chosen!==null?this.chosen:[e.index,e.index+1];this.active=t,this.chosen=[Math.min(s,e.index),Math.max(n,e.index+1)]}reply(){const t=this.takes[this.active];t!==void 0&&(this.turns=[...this.turns,{role:"user",content:this.prompt},{role:"assistant",content:k(f(t))}],[this.prompt,this.takes,this.pins,this.chosen]=["",[],[],null],this.updateComplete.then(()=>this.renderRoot.querySelector("textarea")?.focus()))}async share(){const{model:t,prompt:e,turns:i,options:s,seed:n,count:o}=this,a=tt({model:t,prompt:e,turns:i,options:s,seed:n,count:o});history.replaceState(null,"",a);try{await navigator.clipboard.writeText(location.href),y("The link is copied; it runs the same again.")}catch{y("The link is in the address bar; it runs the same again.")}}export(){const t=this.takes[this.active]?.traces??[],e=URL.createObjectURL(new Blob([JSON.stringify(t)],{type:"application/json"}));Object.assign(document.createElement("a"),{href:e,download:"trace.json"}).click(),URL.revokeObjectURL(e)}async open(t){if(t!==void 0)try{const e=H(await t.text()),i=G(e);this.stopping.abort(),this.request=e[0]?.request??{},this.prompt=this.request.prompt??this.request.messages?.at(-1)?.content??this.prompt,this.cards.some(({id:s})=>s===this.request.model)&&(this.model=this.request.model??""),[this.takes,this.active,this.at,this.pins,this.chosen]=[[i],0,null,[],null],y(`Opened ${i.frames.length} steps of ${this.request.model??"a model"}.`)}catch(e){x(e)}}render(){return this.cards.length===0?r`<h1>Canvas</h1>
        <p class="muted">
          No model of this server writes on a canvas; start it with one: sfumato serve tiny
        </p>`:r`<div
      class="page"
      @dragover=${t=>t.preventDefault()}
      @drop=${t=>{t.preventDefault(),this.open(t.dataTransfer?.files[0])}}
    >
      <h1>Canvas</h1>
      ${this.form()} ${this.takes.length===0?p:this.result()}
    </div>`}form(){const t=this.card?.sfumato.kinds??[],e=s=>{s.preventDefault(),this.run()},i=(s,n,o)=>Math.max(n,Math.min(o,Math.round(s.target.valueAsNumber||n)));return r`${this.turns.map(({role:s,content:n})=>r`<p class="turn ${s}">${n}</p>`)}
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
              @change=${s=>{this.model=s.target.value,M("canvas.model",this.model),this.prompt=this.card?.sfumato.kinds[0]?.example??this.prompt,this.options={}}}
            >
              ${this.cards.map(({id:s})=>r`<option value=${s} ?selected=${s===this.model}>${s}</option>`)}
            </select></label
          >
          ${t.length===0?p:r`<label class="model"
                  >Examples
                  <select
                    @change=${s=>{const n=s.target;this.prompt=t[Number(n.value)]?.example??this.prompt,n.value=""}}
                  >
                    <option value="">What it was trained on …</option>
                    ${t.map(({name:s},n)=>r`<option value=${n}>${s.replaceAll("_"," ")}</option>`)}
                  </select></label
                >`}
          <label
            >Seed
            <input
              type="number"
              min="0"
              .value=${String(this.seed)}
              @change=${s=>this.seed=i(s,0,2**31)}
          /></label>
          <label
            >Side by side
            <input
              type="number"
              min="1"
              max=${S}
              .value=${String(this.count)}
              @change=${s=>this.count=i(s,1,S)}
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
      </form>`}result(){const t=this.takes[this.active],e=t===void 0?[]:f(t).tokens,i=!this.isRunning&&this.at===null&&this.model===this.request.model,[s,n]=this.chosen??[0,0],o=ot[this.colouring];return r`<div class="takes">
        ${this.takes.map((a,u)=>r`<sf-take
              .take=${a}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${u===this.active}
              .chosen=${this.chosen}
              .pins=${this.pins}
              @sf-token=${({detail:d})=>this.choose(u,d)}
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
            @change=${a=>{this.colouring=a.target.value,M("canvas.colouring",this.colouring)}}
          >
            ${L.map(a=>r`<option value=${a} ?selected=${a===this.colouring}>${a}</option>`)}
          </select></label
        >
        ${o===void 0?p:r`<span class="legend figures"><span>${o[0]}</span><i></i><span>${o[1]}</span></span>`}
        <span class="row">
          ${this.pins.length>0&&i?r`<button class="primary" @click=${()=>this.denoise(this.pins)}>
                  Denoise all but the pins
                </button>`:p}
          <button ?disabled=${!i} @click=${()=>this.reply()}>Reply</button>
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
              .tokens=${e.slice(s,n)}
              .pinned=${this.isPinned(D(e,s,n))}
              .editable=${i}
              @sf-token-action=${a=>this.act(a)}
            ></sf-token-panel>`}`}};l.styles=[O,U];h([v()],l.prototype,"place",2);h([c()],l.prototype,"cards",2);h([c()],l.prototype,"model",2);h([c()],l.prototype,"prompt",2);h([c()],l.prototype,"turns",2);h([c()],l.prototype,"options",2);h([c()],l.prototype,"seed",2);h([c()],l.prototype,"count",2);h([c()],l.prototype,"colouring",2);h([c()],l.prototype,"takes",2);h([c()],l.prototype,"at",2);h([c()],l.prototype,"active",2);h([c()],l.prototype,"chosen",2);h([c()],l.prototype,"pins",2);l=h([C("sf-canvas-page")],l);export{l as CanvasPage};
