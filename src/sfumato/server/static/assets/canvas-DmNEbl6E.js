import{e as E,i as q,p as m,g as P,d as c,A as p,z as M,f as K,v as C,w as _,u as j,b as A,j as G,x as Y,c as Q,s as v}from"./index-02VlwGGE.js";import{l as R}from"./live-BM7yGBTv.js";import{t as V,k as W}from"./style-map-CbrfWluZ.js";import{p as L}from"./take-RK9gsk2N.js";import{k as Z}from"./examples-DxiiIci_.js";import{M as tt}from"./models-DkLnH7Tq.js";import{h as et,t as S}from"./canvas-BqwZnn-S.js";import{s as st}from"./files-CTAAkA73.js";import{n as I,g as nt,l as k,s as F,f as it,c as B,o as ot,a as at,r as rt,t as lt,e as ct,d as ht}from"./take-D0BNUl8t.js";import"./offsets-EgNy2a1f.js";import"./directive-helpers-B_rerXEN.js";import"./canvas-DqUMCd6U.js";var pt=Object.defineProperty,dt=Object.getOwnPropertyDescriptor,N=(t,e,s,o)=>{for(var n=o>1?void 0:o?dt(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(n=(o?r(e,s,n):r(n))||n);return o&&n&&pt(e,s,n),n};const ut=[{name:"steps",label:"Max. steps",step:1,own:({sfumato:t})=>t.steps},{name:"canvas_length",label:"Canvas length",step:1,own:({sfumato:t})=>t.canvas_length},{name:"max_tokens",label:"Max. tokens",step:1,own:({sfumato:t})=>t.max_tokens},{name:"temperature",label:"Temperature",step:.1,own:({sfumato:{temperature:t}})=>t&&[...new Set(t)].join(" to ")}];let w=class extends P{constructor(){super(...arguments),this.card=null,this.options={}}set(t,e){const s=Object.entries(this.options).filter(([n])=>n!==t),o=Object.fromEntries(e===void 0?s:[...s,[t,e]]);this.dispatchEvent(new CustomEvent("sf-options",{detail:o,bubbles:!0,composed:!0}))}render(){const{card:t}=this;if(t===null)return c``;const{sampler:e,samplers:s,limits:o}=t.sfumato;return c`<div class="fields">
      ${ut.map(({name:n,label:i,step:r,own:l})=>{const[a,h]=o[n]??[];return c`<label title=${a===void 0||h===void 0?p:`${a} to ${h}`}
          >${i}
          <input
            type="number"
            min=${a??p}
            max=${h??p}
            step=${r}
            ?disabled=${a!==void 0&&a===h}
            placeholder=${l(t)??"model's own"}
            .value=${String(this.options[n]??"")}
            @change=${u=>{const{value:$,valueAsNumber:T}=u.target,X=$===""||Number.isNaN(T),z=Math.min(h??1/0,Math.max(a??-1/0,T));this.set(n,X?void 0:z)}}
        /></label>`})}
      <label class="wide"
        >Sampler
        <select
          @change=${n=>{const{value:i}=n.target;this.set("sampler",i===""?void 0:i)}}
        >
          <option value="" .selected=${this.options.sampler===void 0}>
            ${e===null?"default":`default (${e})`}
          </option>
          ${s.map(n=>c`<option value=${n} .selected=${n===this.options.sampler}>${n}</option>`)}
        </select></label
      >
    </div>`}};w.styles=[E,q`
      .fields {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr));
        gap: 0.75rem;
      }
      @media (min-width: 24rem) {
        .wide {
          grid-column: span 2;
        }
      }
      input,
      select {
        width: 100%;
      }
    `];N([m({attribute:!1})],w.prototype,"card",2);N([m({attribute:!1})],w.prototype,"options",2);w=N([M("sf-options")],w);var mt=Object.defineProperty,ft=Object.getOwnPropertyDescriptor,y=(t,e,s,o)=>{for(var n=o>1?void 0:o?ft(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(n=(o?r(e,s,n):r(n))||n);return o&&n&&mt(e,s,n),n};const H=6,gt=2**31;let g=class extends P{constructor(){super(...arguments),this.cards=[],this.running=!1}focus(){this.textarea.focus()}send(t,e){this.dispatchEvent(new CustomEvent(t,{detail:e,bubbles:!0,composed:!0}))}change(t){this.send("sf-asked",{...this.asked,...t})}choose(t){const{prompt:e}=this.asked,s=this.cards.find(({id:l})=>l===t),o=this.cards.flatMap(({sfumato:l})=>l.kinds.map(({example:a})=>a)),r=e.trim()!==""&&!o.includes(e)||s===void 0||V(s,e)?e:s.sfumato.kinds[0]?.example??e;this.change({model:t,prompt:r,options:{},turns:[]})}submit(t){t.preventDefault(),!this.running&&this.asked.prompt.trim()!==""&&this.send("sf-run")}number(t,e,[s,o],n){return c`<label
      >${t}
      <input
        type="number"
        min=${s}
        max=${o}
        .value=${R(String(e))}
        @change=${i=>{const r=Math.round(i.target.valueAsNumber||s);this.change({[n]:Math.max(s,Math.min(o,r))}),this.requestUpdate()}}
    /></label>`}render(){const{model:t,prompt:e,turns:s,options:o,seed:n,count:i}=this.asked,r=this.cards.find(({id:a})=>a===t)??null,l=r?.sfumato.kinds??[];return c`${s.map(({role:a,content:h})=>c`<p class="turn ${a}">${h}</p>`)}
      ${s.length>0?c`<div class="row">
              <button class="quiet" ?disabled=${this.running} @click=${()=>this.change({turns:[]})}>
                New conversation
              </button>
            </div>`:p}
      <form @submit=${a=>this.submit(a)}>
        <label
          >Prompt
          <textarea
            rows=${Math.min(10,Math.max(2,e.split(`
`).length))}
            .value=${R(e)}
            @input=${a=>this.change({prompt:a.target.value})}
            @keydown=${a=>{a.key==="Enter"&&(a.ctrlKey||a.metaKey)&&this.submit(a)}}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select @change=${a=>this.choose(a.target.value)}>
              ${this.cards.map(({id:a})=>c`<option value=${a} .selected=${a===t}>${a}</option>`)}
            </select></label
          >
          ${l.length===0?p:c`<label class="model"
                  >Examples
                  <select
                    @change=${a=>{const h=a.target;this.change({prompt:l[Number(h.value)]?.example??e}),h.value=""}}
                  >
                    <option value="">Training tasks</option>
                    ${l.map((a,h)=>c`<option value=${h}>${Z(a)}</option>`)}
                  </select></label
                >`}
          ${this.number("Seed",n,[0,gt],"seed")}
          ${this.number("Side by side",i,[1,H],"count")}
          ${this.running?c`<button type="button" @click=${()=>this.send("sf-stop")}>Stop</button>`:c`<button class="primary" title="Ctrl+Enter" ?disabled=${e.trim()===""}>
                  Denoise
                </button>`}
          <button
            type="button"
            title="Open a trace.json, as “Export” saves it"
            @click=${()=>this.file.click()}
          >
            Open
          </button>
          <input
            hidden
            type="file"
            accept=".json,application/json"
            aria-label="Trace to open"
            @change=${()=>{const a=this.file.files?.[0];a!==void 0&&this.send("sf-trace",a),this.file.value=""}}
          />
        </div>
        <details>
          <summary>Options</summary>
          <sf-options
            .card=${r}
            .options=${o}
            @sf-options=${({detail:a})=>this.change({options:a})}
          ></sf-options>
        </details>
      </form>`}};g.styles=[E,L,q`
      .row > label {
        flex: 0 1 8rem;
      }
    `];y([m({attribute:!1})],g.prototype,"cards",2);y([m({attribute:!1})],g.prototype,"asked",2);y([m({type:Boolean})],g.prototype,"running",2);y([K("textarea")],g.prototype,"textarea",2);y([K("input[type=file]")],g.prototype,"file",2);g=y([M("sf-asking")],g);var vt=Object.defineProperty,bt=Object.getOwnPropertyDescriptor,O=(t,e,s,o)=>{for(var n=o>1?void 0:o?bt(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(n=(o?r(e,s,n):r(n))||n);return o&&n&&vt(e,s,n),n};let b=class extends P{constructor(){super(...arguments),this.tokens=[],this.pinned=!1,this.editable=!1,this.extending=!1}send(t){this.dispatchEvent(new CustomEvent("sf-token-action",{detail:t,bubbles:!0,composed:!0}))}write(t){t.preventDefault();const e=new FormData(t.target).get("text");typeof e=="string"&&this.send({kind:"write",text:e})}render(){const[t]=this.tokens;if(t===void 0)return p;const e=this.tokens.map(s=>s.text).join("");return c`<section
      class="card"
      aria-label="Selected tokens"
      @keydown=${s=>s.key==="Escape"&&this.send({kind:"close"})}
    >
      <header>
        <h2>
          <code>${JSON.stringify(e)}</code>
          ${this.tokens.length>1?c`<span class="muted">${this.tokens.length} tokens</span>`:p}
        </h2>
        <span class="row">
          <button aria-pressed=${String(this.extending)} @click=${()=>this.send({kind:"more"})}>
            Select more
          </button>
          <button class="quiet" aria-label="Close" @click=${()=>this.send({kind:"close"})}>✕</button>
        </span>
      </header>
      ${this.tokens.some(({history:s})=>s.length>1)?c`<p><span class="muted">History:</span> <code>${et(this.tokens)}</code></p>`:p}
      ${this.tokens.length===1?this.about(t):p}
      ${this.editable?c`<div class="row">
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
    </section>`}about(t){const e=t.alternatives?.top_logprobs??[],s=[t.confidence===null?null:`confidence ${(100*t.confidence).toFixed(1)}%`,t.entropy===null?null:`entropy ${t.entropy.toFixed(2)} nats`,`${t.revisions} ${t.revisions===1?"revision":"revisions"}`].filter(o=>o!==null);return c`<p class="figures">${s.join(" · ")}</p>
      ${e.length>0?c`<div>
              <p class="muted">Alternatives:</p>
              <div class="others">
                ${e.map(({token:o,logprob:n})=>c`<button
                      ?disabled=${!this.editable||o===t.text}
                      @click=${()=>this.send({kind:"write",text:o})}
                    >
                      ${JSON.stringify(o).slice(1,-1)||"∅"}
                      <small>${(100*Math.exp(n)).toFixed(1)}%</small>
                    </button>`)}
              </div>
            </div>`:p}`}};b.styles=[E,q`
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
    `];O([m({attribute:!1})],b.prototype,"tokens",2);O([m({type:Boolean})],b.prototype,"pinned",2);O([m({type:Boolean})],b.prototype,"editable",2);O([m({type:Boolean})],b.prototype,"extending",2);b=O([M("sf-token-panel")],b);const $t=["steps","temperature","max_tokens","canvas_length","sampler"];function U({model:t,prompt:e,turns:s,options:o,seed:n}){const i=s.length===0?{prompt:e}:{messages:[...s,{role:"user",content:e}]};return{model:t,seed:n,...i,...o}}function x(t,e){const{model:s="",prompt:o,messages:n=[],seed:i=0}=t,r=Object.entries(t).filter(([l])=>$t.includes(l));return{model:s,prompt:o??n.at(-1)?.content??"",turns:o===void 0?n.slice(0,-1):[],options:Object.fromEntries(r),seed:i,count:e}}function kt(t){const e=U(x(t,1));return Object.keys(t).every(s=>s in e)}function yt(t){const e=new TextEncoder().encode(JSON.stringify(t));return`#${btoa(String.fromCharCode(...e)).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}`}function xt(t){const{role:e,content:s}=t??{};return typeof e=="string"&&typeof s=="string"}function wt(t){if(t.length<2)return null;try{const e=atob(t.slice(1).replaceAll("-","+").replaceAll("_","/")),s=new TextDecoder().decode(Uint8Array.from(e,u=>u.charCodeAt(0))),{seed:o,count:n,...i}=JSON.parse(s);if(typeof i.model!="string"||typeof i.prompt!="string")return null;const r=Array.isArray(i.turns)?i.turns.filter(xt):[],l=typeof i.options=="object"&&i.options!==null?i.options:{},{model:a,prompt:h}=i;return{model:a,prompt:h,turns:r,options:l,seed:J(o,0),count:Math.max(1,J(n,1))}}catch{return null}}function J(t,e){return typeof t=="number"&&Number.isFinite(t)?t:e}var Ot=Object.defineProperty,_t=Object.getOwnPropertyDescriptor,f=(t,e,s,o)=>{for(var n=o>1?void 0:o?_t(e,s):e,i=t.length-1,r;i>=0;i--)(r=t[i])&&(n=(o?r(e,s,n):r(n))||n);return o&&n&&Ot(e,s,n),n};const D=[],St=1500,Et=3;let d=class extends P{constructor(){super(...arguments),this.place="",this.asked={model:C("canvas.model",""),prompt:C("canvas.prompt",""),turns:[],options:{},seed:1,count:1},this.colouring=C("canvas.colouring","confidence"),this.takes=[],this.at=null,this.active=0,this.chosen=null,this.extending=!1,this.pins=[],this.request={},this.models=new tt(this,({capabilities:t})=>t.includes("canvas"),()=>this.begin()),this.stopping=new AbortController,this.openShared=()=>{const t=wt(location.hash);t===null||(this.models.cards??[]).length===0||this.fill({...t,count:Math.min(H,t.count)})&&this.run()}}connectedCallback(){super.connectedCallback(),addEventListener("hashchange",this.openShared)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("hashchange",this.openShared),this.stopping.abort()}begin(){const t=this.models.find(this.asked.model)??this.models.cards?.[0],e=this.asked.prompt||(t?.sfumato.kinds[0]?.example??"");this.asked={...this.asked,model:t?.id??"",prompt:e},this.openShared()}get isRunning(){return this.takes.some(({status:t})=>t==="running")}get longest(){return this.takes.reduce((t,{frames:e})=>e.length>t.length?e:t,[])}fill(t){const e=this.models.find(t.model)!==void 0,{model:s}=this.asked;return this.asked=e?t:{...t,model:s,options:{}},e||_(`This server has no model named “${t.model}”; ${s} is chosen instead.`),e}run(){const{model:t,prompt:e,seed:s,count:o}=this.asked;t===""||e.trim()===""||(j("canvas.prompt",e),this.request=U(this.asked),[this.pins,this.chosen,this.at,this.active]=[[],null,null,0],this.takes=Array.from({length:o},(n,i)=>I(s+i)),this.start(this.takes.map((n,i)=>[i,{...this.request,seed:n.seed}])))}start(t){this.stopping.abort(),this.stopping=new AbortController;const{signal:e}=this.stopping;for(const[s,o]of t)this.follow(s,o,e)}async follow(t,e,s){const o=this.takes[t];if(o===void 0)return;let n=o;for await(const i of nt(Q,o,e,s)){if(this.takes[t]!==n)return;this.takes=this.takes.with(t,n=i),i.status==="done"&&!this.isRunning&&this.replay(),i.status==="done"?A(`Seed ${i.seed}: ${S(k(i))}`):i.status==="failed"&&A(i.error??"")}}replay(){(k(this.takes[0]??I(0)).elapsedMs??1/0)>St||G()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play(Et))}act({detail:t}){const e=this.takes[this.active];if(e===void 0||this.chosen===null)return;const s=k(e),[o,n]=this.chosen,i=F(s.tokens,o,n),r=S(s);switch(t.kind){case"more":this.extending=!this.extending;break;case"close":this.chosen=null;break;case"pin":this.setPins(this.isPinned(i)?this.activePins.filter(l=>!B(l,i)):[...this.activePins,i]);break;case"renoise":this.denoise(ot([i],r.length));break;case"onwards":this.denoise([[0,i[0]]]);break;case"write":{const l=it(e,o,n,t.text),a=t.text.length-(i[1]-i[0]),h=this.activePins.filter(u=>!B(u,i)).map(([u,$])=>u>=i[1]?[u+a,$+a]:[u,$]);this.setPins([...h,[i[0],i[0]+t.text.length]]),this.takes=this.takes.map((u,$)=>$===this.active?l:u),this.chosen=null,this.at=null,A("Replaced. Denoise again to update the rest.")}}}denoise(t){const e=this.takes[this.active];if(e===void 0)return;const s=S(k(e));[this.chosen,this.at]=[null,null],this.start([[this.active,at(this.request,s,t,e.seed+1e3*e.traces.length)]])}get activePins(){return this.pins[this.active]??D}setPins(t){this.pins=this.takes.map((e,s)=>s===this.active?t:this.pins[s]??D)}isPinned([t,e]){return this.activePins.some(([s,o])=>s<=t&&e<=o)}choose(t,e){const o=(e.extends||this.extending)&&t===this.active?this.chosen:null,[n,i]=o??[e.index,e.index+1];this.extending&&=o!==null,this.active=t,this.chosen=[Math.min(n,e.index),Math.max(i,e.index+1)]}reply(){const t=this.takes[this.active];if(t===void 0)return;const{turns:e,prompt:s}=x(this.request,1),o={role:"user",content:s},n={role:"assistant",content:S(k(t))};this.asked={...this.asked,prompt:"",turns:[...e,o,n]},[this.takes,this.pins,this.chosen]=[[],[],null],this.updateComplete.then(()=>this.renderRoot.querySelector("sf-asking")?.focus())}async share(){history.replaceState(null,"",yt(x(this.request,this.takes.length)));const e=this.takes.some(s=>s.isEdited)||this.pins.some(({length:s})=>s>0)?"It runs this again without your changes; “Export” saves them.":kt(this.request)?"It runs exactly this again.":"It runs this again without some of its settings; “Export” saves them.";try{await navigator.clipboard.writeText(location.href),_(`Link copied. ${e}`)}catch{_(`The link is in the address bar. ${e}`)}}export(){const t=this.takes[this.active]?.traces??[];st("trace.json",JSON.stringify(t),"application/json")}async open(t){if(t!==void 0)try{const e=rt(await t.text()),s=lt(e);this.start([]),this.request={model:e[0]?.model??"",...e[0]?.request,seed:s.seed},[this.takes,this.active,this.at,this.pins,this.chosen]=[[s],0,null,[],null],this.fill(x(this.request,1))&&_(`Opened ${ct(ht(s.frames))} of ${this.asked.model}.`)}catch(e){Y(e)}}render(){const t=this.models.notice("No model on this server writes on a canvas; start it with one: sfumato serve tiny");return t!==p?c`<h1>Canvas</h1>
        ${t}`:c`<div
      class="page"
      @dragover=${e=>e.preventDefault()}
      @drop=${e=>{e.preventDefault(),this.open(e.dataTransfer?.files[0])}}
    >
      <h1>Canvas</h1>
      <p class="muted intro">
        Enter a prompt and watch the answer form from noise; then step through it, pin tokens and change it.
      </p>
      <sf-asking
        .cards=${this.models.cards??[]}
        .asked=${this.asked}
        ?running=${this.isRunning}
        @sf-asked=${({detail:e})=>{this.asked=e,j("canvas.model",e.model)}}
        @sf-run=${()=>this.run()}
        @sf-stop=${()=>this.stopping.abort()}
        @sf-trace=${({detail:e})=>void this.open(e)}
      ></sf-asking>
      ${this.takes.length===0?p:this.result()}
    </div>`}result(){const t=this.takes[this.active],e=t===void 0?[]:k(t).tokens,s=!this.isRunning&&this.at===null&&this.models.find(this.request.model)!==void 0,o=t?.status==="failed",{prompt:n}=x(this.request,1),[i,r]=this.chosen??[0,0];return c`<div class="takes">
        ${this.takes.map((l,a)=>c`<sf-take
              .take=${l}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${a===this.active}
              .chosen=${this.chosen}
              .pins=${this.pins[a]??D}
              .kinds=${W(this.models.find(this.request.model),n)}
              @sf-token=${({detail:h})=>this.choose(a,h)}
              @sf-example=${({detail:h})=>{this.asked={...this.asked,prompt:h,model:this.request.model??""},this.run()}}
            ></sf-take>`)}
      </div>
      <sf-scrubber
        .frames=${this.longest}
        .at=${this.at??Math.max(0,this.longest.length-1)}
        @sf-at=${({detail:l})=>{this.at=l>=this.longest.length-1?null:l,this.at!==null&&(this.chosen=null)}}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:l})=>{this.colouring=l,j("canvas.colouring",l)}}
        ></sf-colouring>
        <span class="row">
          ${this.activePins.length>0&&s?c`<button class="primary" @click=${()=>this.denoise(this.activePins)}>
                  Denoise all but the pins
                </button>`:p}
          <button ?disabled=${!s||o} @click=${()=>this.reply()}>Reply</button>
          <button ?disabled=${o} @click=${()=>this.share()}>Share</button>
          <button ?disabled=${(t?.traces.length??0)===0} @click=${()=>this.export()}>Export</button>
        </span>
      </div>
      ${this.chosen===null?c`<p class="muted">${this.hint(e.length)}</p>`:c`<sf-token-panel
              .tokens=${e.slice(i,r)}
              .pinned=${this.isPinned(F(e,i,r))}
              .editable=${s}
              .extending=${this.extending}
              @sf-token-action=${l=>this.act(l)}
            ></sf-token-panel>`}`}hint(t){return t===0||this.isRunning?"":this.at!==null?"Go to the last step to select tokens.":"Click a token to see alternatives, pin it or replace it; Shift-click or “Select more” selects several."}};d.styles=[E,L];f([m()],d.prototype,"place",2);f([v()],d.prototype,"asked",2);f([v()],d.prototype,"colouring",2);f([v()],d.prototype,"takes",2);f([v()],d.prototype,"at",2);f([v()],d.prototype,"active",2);f([v()],d.prototype,"chosen",2);f([v()],d.prototype,"extending",2);f([v()],d.prototype,"pins",2);d=f([M("sf-canvas-page")],d);export{d as CanvasPage};
