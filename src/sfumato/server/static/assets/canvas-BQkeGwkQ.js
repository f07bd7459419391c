import{e as M,i as I,n as g,g as C,d as r,A as p,w as A,s as S,t as x,u as D,c as j,q as _,b as O,h as B,r as c}from"./index-B3E5B1W5.js";import{p as K}from"./canvas-styles-BGu5uFqt.js";import{h as H,t as w}from"./canvas-BqwZnn-S.js";import{s as U}from"./files-CTAAkA73.js";import{n as N,g as W,l as $,s as R,d as X,c as T,o as Y,a as z,r as G,t as Q}from"./take-Cb18_Fsc.js";import"./canvas-Bo2askCk.js";import"./offsets-EgNy2a1f.js";var V=Object.defineProperty,Z=Object.getOwnPropertyDescriptor,P=(t,s,o,e)=>{for(var i=e>1?void 0:e?Z(s,o):s,n=t.length-1,a;n>=0;n--)(a=t[n])&&(i=(e?a(s,o,i):a(i))||i);return e&&i&&V(s,o,i),i};const tt=[{name:"steps",label:"Max. steps",step:1,own:({sfumato:t})=>t.steps},{name:"canvas_length",label:"Canvas length",step:1,own:({sfumato:t})=>t.canvas_length},{name:"max_tokens",label:"Max. tokens",step:1,own:({sfumato:t})=>t.max_tokens},{name:"temperature",label:"Temperature",step:.1}];let y=class extends C{constructor(){super(...arguments),this.card=null,this.options={}}set(t,s){const o=Object.entries(this.options).filter(([i])=>i!==t),e=Object.fromEntries(s===void 0?o:[...o,[t,s]]);this.dispatchEvent(new CustomEvent("sf-options",{detail:e,bubbles:!0,composed:!0}))}render(){const{card:t}=this;if(t===null)return r``;const{sampler:s,samplers:o,limits:e}=t.sfumato;return r`<div class="fields">
      ${tt.map(({name:i,label:n,step:a,own:m})=>{const[u,f]=e[i]??[];return r`<label title=${u===void 0||f===void 0?p:`${u} to ${f}`}
          >${n}
          <input
            type="number"
            min=${u??p}
            max=${f??p}
            step=${a}
            ?disabled=${u!==void 0&&u===f}
            placeholder=${m?.(t)??"default"}
            .value=${String(this.options[i]??"")}
            @change=${d=>{const{value:v,valueAsNumber:q}=d.target,J=v===""||Number.isNaN(q),L=Math.min(f??1/0,Math.max(u??-1/0,q));this.set(i,J?void 0:L)}}
        /></label>`})}
      <label
        >Sampler
        <select
          @change=${i=>{const{value:n}=i.target;this.set("sampler",n===""?void 0:n)}}
        >
          <option value="" .selected=${this.options.sampler===void 0}>
            ${s===null?"default":`default (${s})`}
          </option>
          ${o.map(i=>r`<option value=${i} .selected=${i===this.options.sampler}>${i}</option>`)}
        </select></label
      >
    </div>`}};y.styles=[M,I`
      .fields {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
        gap: 0.75rem;
      }
      input,
      select {
        width: 100%;
      }
    `];P([g({attribute:!1})],y.prototype,"card",2);P([g({attribute:!1})],y.prototype,"options",2);y=P([A("sf-options")],y);var et=Object.defineProperty,st=Object.getOwnPropertyDescriptor,k=(t,s,o,e)=>{for(var i=e>1?void 0:e?st(s,o):s,n=t.length-1,a;n>=0;n--)(a=t[n])&&(i=(e?a(s,o,i):a(i))||i);return e&&i&&et(s,o,i),i};let b=class extends C{constructor(){super(...arguments),this.tokens=[],this.pinned=!1,this.editable=!1,this.extending=!1}send(t){this.dispatchEvent(new CustomEvent("sf-token-action",{detail:t,bubbles:!0,composed:!0}))}write(t){t.preventDefault();const s=new FormData(t.target).get("text");typeof s=="string"&&this.send({kind:"write",text:s})}render(){const[t]=this.tokens;if(t===void 0)return p;const s=this.tokens.map(o=>o.text).join("");return r`<section
      class="card"
      aria-label="Selected tokens"
      @keydown=${o=>o.key==="Escape"&&this.send({kind:"close"})}
    >
      <header>
        <h2>
          <code>${JSON.stringify(s)}</code>
          ${this.tokens.length>1?r`<span class="muted">${this.tokens.length} tokens</span>`:p}
        </h2>
        <span class="row">
          <button aria-pressed=${String(this.extending)} @click=${()=>this.send({kind:"more"})}>
            Select more
          </button>
          <button class="quiet" aria-label="Close" @click=${()=>this.send({kind:"close"})}>✕</button>
        </span>
      </header>
      ${this.tokens.some(({history:o})=>o.length>1)?r`<p><span class="muted">History:</span> <code>${H(this.tokens)}</code></p>`:p}
      ${this.tokens.length===1?this.about(t):p}
      ${this.editable?r`<div class="row">
              <button @click=${()=>this.send({kind:"pin"})}>${this.pinned?"Unpin":"Pin"}</button>
              <button @click=${()=>this.send({kind:"renoise"})}>Back to noise</button>
              <button @click=${()=>this.send({kind:"onwards"})}>Denoise again from here</button>
              <form @submit=${this.write}>
                <input
                  name="text"
                  aria-label="Replace with"
                  placeholder="Replace with …"
                  autocomplete="off"
                />
                <button>Replace</button>
              </form>
            </div>`:p}
    </section>`}about(t){const s=t.alternatives?.top_logprobs??[],o=[t.confidence===null?null:`confidence ${(100*t.confidence).toFixed(1)}%`,t.entropy===null?null:`entropy ${t.entropy.toFixed(2)} nats`,`${t.revisions} ${t.revisions===1?"revision":"revisions"}`].filter(e=>e!==null);return r`<p class="figures">${o.join(" · ")}</p>
      ${s.length>0?r`<div>
              <p class="muted">Alternatives:</p>
              <div class="others">
                ${s.map(({token:e,logprob:i})=>r`<button
                      ?disabled=${!this.editable||e===t.text}
                      @click=${()=>this.send({kind:"write",text:e})}
                    >
                      ${JSON.stringify(e).slice(1,-1)||"∅"}
                      <small>${(100*Math.exp(i)).toFixed(1)}%</small>
                    </button>`)}
              </div>
            </div>`:p}`}};b.styles=[M,I`
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
      header .row {
        flex: none;
      }
      [aria-pressed="true"] {
        border-color: var(--accent);
        color: var(--accent-text);
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
    `];k([g({attribute:!1})],b.prototype,"tokens",2);k([g({type:Boolean})],b.prototype,"pinned",2);k([g({type:Boolean})],b.prototype,"editable",2);k([g({type:Boolean})],b.prototype,"extending",2);b=k([A("sf-token-panel")],b);function nt(t){const s=new TextEncoder().encode(JSON.stringify(t));return`#${btoa(String.fromCharCode(...s)).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}`}function it(t){const{role:s,content:o}=t??{};return typeof s=="string"&&typeof o=="string"}function ot(t){if(t.length<2)return null;try{const s=atob(t.slice(1).replaceAll("-","+").replaceAll("_","/")),o=new TextDecoder().decode(Uint8Array.from(s,d=>d.charCodeAt(0))),{seed:e,count:i,...n}=JSON.parse(o);if(typeof n.model!="string"||typeof n.prompt!="string")return null;const a=Array.isArray(n.turns)?n.turns.filter(it):[],m=typeof n.options=="object"&&n.options!==null?n.options:{},{model:u,prompt:f}=n;return{model:u,prompt:f,turns:a,options:m,seed:F(e,0),count:Math.max(1,F(i,1))}}catch{return null}}function F(t,s){return typeof t=="number"&&Number.isFinite(t)?t:s}var rt=Object.defineProperty,at=Object.getOwnPropertyDescriptor,h=(t,s,o,e)=>{for(var i=e>1?void 0:e?at(s,o):s,n=t.length-1,a;n>=0;n--)(a=t[n])&&(i=(e?a(s,o,i):a(i))||i);return e&&i&&rt(s,o,i),i};const E=6,lt=1500,ht=3;let l=class extends C{constructor(){super(...arguments),this.place="",this.cards=[],this.model=S("canvas.model",""),this.prompt="",this.turns=[],this.options={},this.seed=1,this.count=1,this.colouring=S("canvas.colouring","confidence"),this.takes=[],this.at=null,this.active=0,this.chosen=null,this.extending=!1,this.pins=[],this.request={},this.stopping=new AbortController,this.openShared=()=>{const t=ot(location.hash);t!==null&&(this.model=t.model,this.prompt=t.prompt,this.turns=t.turns??[],this.options=t.options??{},this.seed=t.seed,this.count=Math.min(E,t.count),this.card===null?x(`This server has no model named “${t.model}”; choose another one.`):this.run())}}connectedCallback(){super.connectedCallback(),addEventListener("hashchange",this.openShared),this.begin().catch(D)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("hashchange",this.openShared),this.stopping.abort()}async begin(){const t=await j.models();this.cards=t.filter(({capabilities:s})=>s.includes("canvas")),this.cards.some(({id:s})=>s===this.model)||(this.model=this.cards[0]?.id??""),this.prompt||=S("canvas.prompt",""),this.prompt||=this.card?.sfumato.kinds[0]?.example??"",this.openShared()}get card(){return this.cards.find(({id:t})=>t===this.model)??null}get isRunning(){return this.takes.some(({status:t})=>t==="running")}get numFrames(){return Math.max(0,...this.takes.map(({frames:t})=>t.length))}run(){if(this.model===""||this.prompt.trim()==="")return;_("canvas.prompt",this.prompt);const t={model:this.model,seed:this.seed},s=this.turns.length===0?{prompt:this.prompt}:{messages:[...this.turns,{role:"user",content:this.prompt}]};this.request={...t,...s,...this.options},[this.pins,this.chosen,this.at,this.active]=[[],null,null,0],this.takes=Array.from({length:this.count},(o,e)=>N(this.seed+e)),this.start(this.takes.map((o,e)=>[e,{...this.request,seed:o.seed}]))}start(t){this.stopping.abort(),this.stopping=new AbortController;const{signal:s}=this.stopping;for(const[o,e]of t)this.follow(o,e,s)}async follow(t,s,o){const e=this.takes[t];if(e===void 0)return;let i=e;for await(const n of W(j,e,s,o)){if(this.takes[t]!==i)return;this.takes=this.takes.with(t,i=n),n.status==="done"&&!this.isRunning&&this.replay(),n.status==="done"?O(`Seed ${n.seed}: ${w($(n))}`):n.status==="failed"&&O(n.error??"")}}replay(){($(this.takes[0]??N(0)).elapsedMs??1/0)>lt||B()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play(ht))}act({detail:t}){const s=this.takes[this.active];if(s===void 0||this.chosen===null)return;const o=$(s),[e,i]=this.chosen,n=R(o.tokens,e,i),a=w(o);switch(t.kind){case"more":this.extending=!this.extending;break;case"close":this.chosen=null;break;case"pin":this.pins=this.isPinned(n)?this.pins.filter(m=>!T(m,n)):[...this.pins,n];break;case"renoise":this.denoise(Y([n],a.length));break;case"onwards":this.denoise([[0,n[0]]]);break;case"write":{const m=X(s,e,i,t.text),u=t.text.length-(n[1]-n[0]),f=this.pins.filter(d=>!T(d,n)).map(([d,v])=>d>=n[1]?[d+u,v+u]:[d,v]);this.pins=[...f,[n[0],n[0]+t.text.length]],this.takes=this.takes.map((d,v)=>v===this.active?m:d),this.chosen=null,this.at=null,O("Replaced. Denoise again to update the rest.")}}}denoise(t){const s=this.takes[this.active];if(s===void 0)return;const o=w($(s));[this.chosen,this.at]=[null,null],this.start([[this.active,z(this.request,o,t,s.seed+1e3*s.traces.length)]])}isPinned([t,s]){return this.pins.some(([o,e])=>o<=t&&s<=e)}choose(t,s){const e=(s.extends||this.extending)&&t===this.active?this.chosen:null,[i,n]=e??[s.index,s.index+1];this.extending&&=e!==null,this.active=t,this.chosen=[Math.min(i,s.index),Math.max(n,s.index+1)]}get asked(){return this.request.prompt??this.request.messages?.at(-1)?.content??this.prompt}reply(){const t=this.takes[this.active];t!==void 0&&(this.turns=[...this.turns,{role:"user",content:this.asked},{role:"assistant",content:w($(t))}],[this.prompt,this.takes,this.pins,this.chosen]=["",[],[],null],this.updateComplete.then(()=>this.renderRoot.querySelector("textarea")?.focus()))}async share(){const{model:t,prompt:s,turns:o,options:e,seed:i,count:n}=this,a=nt({model:t,prompt:s,turns:o,options:e,seed:i,count:n});history.replaceState(null,"",a);try{await navigator.clipboard.writeText(location.href),x("Link copied. It reruns exactly this.")}catch{x("The link is in the address bar. It reruns exactly this.")}}export(){const t=this.takes[this.active]?.traces??[];U("trace.json",JSON.stringify(t),"application/json")}async open(t){if(t!==void 0)try{const s=G(await t.text()),o=Q(s);this.start([]),this.request=s[0]?.request??{},this.prompt=this.asked,this.cards.some(({id:e})=>e===this.request.model)&&(this.model=this.request.model??""),[this.takes,this.active,this.at,this.pins,this.chosen]=[[o],0,null,[],null],x(`Opened ${o.frames.length} steps of ${this.request.model??"a model"}.`)}catch(s){D(s)}}render(){return this.cards.length===0?r`<h1>Canvas</h1>
        <p class="muted">
          No model on this server writes on a canvas; start it with one: sfumato serve tiny
        </p>`:r`<div
      class="page"
      @dragover=${t=>t.preventDefault()}
      @drop=${t=>{t.preventDefault(),this.open(t.dataTransfer?.files[0])}}
    >
      <h1>Canvas</h1>
      <p class="muted intro">
        Enter a prompt and watch the answer form from noise; then step through it, pin tokens and change it.
      </p>
      ${this.form()} ${this.takes.length===0?p:this.result()}
    </div>`}form(){const t=this.card?.sfumato.kinds??[],s=e=>{e.preventDefault(),this.run()},o=(e,i,n)=>Math.max(i,Math.min(n,Math.round(e.target.valueAsNumber||i)));return r`${this.turns.map(({role:e,content:i})=>r`<p class="turn ${e}">${i}</p>`)}
      ${this.turns.length>0?r`<div class="row">
              <button class="quiet" ?disabled=${this.isRunning} @click=${()=>this.turns=[]}>
                New conversation
              </button>
            </div>`:p}
      <form @submit=${s}>
        <label
          >Prompt
          <textarea
            rows=${Math.min(10,Math.max(2,this.prompt.split(`
`).length))}
            .value=${this.prompt}
            @input=${e=>this.prompt=e.target.value}
            @keydown=${e=>{e.key==="Enter"&&(e.ctrlKey||e.metaKey)&&s(e)}}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select
              @change=${e=>{this.model=e.target.value,_("canvas.model",this.model),this.prompt=this.card?.sfumato.kinds[0]?.example??this.prompt,[this.options,this.turns]=[{},[]]}}
            >
              ${this.cards.map(({id:e})=>r`<option value=${e} .selected=${e===this.model}>${e}</option>`)}
            </select></label
          >
          ${t.length===0?p:r`<label class="model"
                  >Examples
                  <select
                    @change=${e=>{const i=e.target;this.prompt=t[Number(i.value)]?.example??this.prompt,i.value=""}}
                  >
                    <option value="">What it was trained on …</option>
                    ${t.map(({name:e},i)=>r`<option value=${i}>${e.replaceAll("_"," ")}</option>`)}
                  </select></label
                >`}
          <label
            >Seed
            <input
              type="number"
              min="0"
              .value=${String(this.seed)}
              @change=${e=>this.seed=o(e,0,2**31)}
          /></label>
          <label
            >Side by side
            <input
              type="number"
              min="1"
              max=${E}
              .value=${String(this.count)}
              @change=${e=>this.count=o(e,1,E)}
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
            @sf-options=${({detail:e})=>this.options=e}
          ></sf-options>
        </details>
      </form>`}result(){const t=this.takes[this.active],s=t===void 0?[]:$(t).tokens,o=!this.isRunning&&this.at===null&&this.model===this.request.model,[e,i]=this.chosen??[0,0];return r`<div class="takes">
        ${this.takes.map((n,a)=>r`<sf-take
              .take=${n}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${a===this.active}
              .chosen=${this.chosen}
              .pins=${this.pins}
              @sf-token=${({detail:m})=>this.choose(a,m)}
            ></sf-take>`)}
      </div>
      <sf-scrubber
        .count=${this.numFrames}
        .at=${this.at??Math.max(0,this.numFrames-1)}
        @sf-at=${({detail:n})=>{this.at=n>=this.numFrames-1?null:n,this.at!==null&&(this.chosen=null)}}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:n})=>{this.colouring=n,_("canvas.colouring",n)}}
        ></sf-colouring>
        <span class="row">
          ${this.pins.length>0&&o?r`<button class="primary" @click=${()=>this.denoise(this.pins)}>
                  Denoise all but the pins
                </button>`:p}
          <button ?disabled=${!o} @click=${()=>this.reply()}>Reply</button>
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
            @change=${n=>void this.open(n.target.files?.[0])}
          />
        </span>
      </div>
      ${this.chosen===null?r`<p class="muted">
              Click a token to see alternatives, pin it or replace it; Shift-click or “Select more” selects
              several.
            </p>`:r`<sf-token-panel
              .tokens=${s.slice(e,i)}
              .pinned=${this.isPinned(R(s,e,i))}
              .editable=${o}
              .extending=${this.extending}
              @sf-token-action=${n=>this.act(n)}
            ></sf-token-panel>`}`}};l.styles=[M,K];h([g()],l.prototype,"place",2);h([c()],l.prototype,"cards",2);h([c()],l.prototype,"model",2);h([c()],l.prototype,"prompt",2);h([c()],l.prototype,"turns",2);h([c()],l.prototype,"options",2);h([c()],l.prototype,"seed",2);h([c()],l.prototype,"count",2);h([c()],l.prototype,"colouring",2);h([c()],l.prototype,"takes",2);h([c()],l.prototype,"at",2);h([c()],l.prototype,"active",2);h([c()],l.prototype,"chosen",2);h([c()],l.prototype,"extending",2);h([c()],l.prototype,"pins",2);l=h([A("sf-canvas-page")],l);export{l as CanvasPage};
