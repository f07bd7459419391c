import{e as O,i as R,o as m,g as _,d as l,A as p,C as E,f as B,v as C,x as b,F as Q,u as M,b as q,j as V,w as W,y as tt,c as et,r as f}from"./index-CMMe71eo.js";import{l as A}from"./live-Cg5bwphB.js";import{F as D,t as st,k as nt}from"./style-map-Dfcu4NBq.js";import{p as J}from"./take-BbVSBBn8.js";import{k as it}from"./examples-Vs3VEqa4.js";import{s as ot}from"./start-stop-iAhsBg9B.js";import{M as at}from"./models-B0BZkP56.js";import{h as rt,t as S}from"./canvas-BqwZnn-S.js";import{c as lt,n as N,g as ht,l as k,f as U,e as ct,s as pt,o as dt,d as ut,a as mt,r as ft,t as gt,i as vt,h as bt}from"./take-R79uc_On.js";import{b as kt}from"./keys-D98DPntO.js";import{k as $t}from"./prose-Dj4Cixse.js";import{n as yt,p as xt,h as I,g as wt,c as St}from"./steps-Bb5mR1ze.js";import"./offsets-EgNy2a1f.js";import"./canvas-DwdqAIXd.js";import"./answer-CwhH4pm4.js";var Ot=Object.defineProperty,_t=Object.getOwnPropertyDescriptor,T=(t,e,s,i)=>{for(var n=i>1?void 0:i?_t(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(n=(i?r(e,s,n):r(n))||n);return i&&n&&Ot(e,s,n),n};const Et=[{name:"steps",label:"Max. steps",step:1,own:({sfumato:t})=>t.steps},{name:"canvas_length",label:"Canvas length",step:1,own:({sfumato:t})=>t.canvas_length},{name:"max_tokens",label:"Max. tokens",step:1,own:({sfumato:t})=>t.max_tokens},{name:"temperature",label:"Temperature",step:.1,own:({sfumato:{temperature:t}})=>t&&[...new Set(t)].join(" to ")}];let x=class extends _{constructor(){super(...arguments),this.card=null,this.options={}}set(t,e){const s=Object.entries(this.options).filter(([n])=>n!==t),i=Object.fromEntries(e===void 0?s:[...s,[t,e]]);this.dispatchEvent(new CustomEvent("sf-options",{detail:i,bubbles:!0,composed:!0}))}render(){const{card:t}=this;if(t===null)return l``;const{sampler:e,samplers:s,limits:i}=t.sfumato;return l`<div class="fields">
      ${Et.map(({name:n,label:o,step:r,own:c})=>{const[a,h]=i[n]??[],P=a!==void 0&&h!==void 0&&a<h;return l`<label
          >${o}${P?l` <small class="muted">${a} to ${h}</small>`:p}
          <input
            type="number"
            min=${a??p}
            max=${h??p}
            step=${r}
            ?disabled=${a!==void 0&&a===h}
            placeholder=${c(t)??"model's own"}
            .value=${A(String(this.options[n]??""))}
            @change=${Z=>{const{value:G,valueAsNumber:F}=Z.target,Y=G===""||Number.isNaN(F),z=Math.min(h??1/0,Math.max(a??-1/0,F));this.set(n,Y?void 0:z),this.requestUpdate()}}
        /></label>`})}
      <label class="wide"
        >Sampler
        <select
          @change=${n=>{const{value:o}=n.target;this.set("sampler",o===""?void 0:o)}}
        >
          <option value="" .selected=${this.options.sampler===void 0}>
            ${e===null?"default":`default (${e})`}
          </option>
          ${s.map(n=>l`<option value=${n} .selected=${n===this.options.sampler}>${n}</option>`)}
        </select></label
      >
    </div>`}};x.styles=[O,R`
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
    `];T([m({attribute:!1})],x.prototype,"card",2);T([m({attribute:!1})],x.prototype,"options",2);x=T([E("sf-options")],x);var Pt=Object.defineProperty,Ct=Object.getOwnPropertyDescriptor,$=(t,e,s,i)=>{for(var n=i>1?void 0:i?Ct(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(n=(i?r(e,s,n):r(n))||n);return i&&n&&Pt(e,s,n),n};const H=6,Mt=2**31;let g=class extends _{constructor(){super(...arguments),this.cards=[],this.running=!1}focus(){this.textarea.focus()}send(t,e){this.dispatchEvent(new CustomEvent(t,{detail:e,bubbles:!0,composed:!0}))}change(t){this.send("sf-asked",{...this.asked,...t})}choose(t){const{prompt:e}=this.asked,s=this.cards.find(({id:c})=>c===t),i=this.cards.flatMap(({sfumato:c})=>c.kinds.map(({example:a})=>a)),r=e.trim()!==""&&e!==D&&!i.includes(e)||s===void 0||st(s,e)?e:s.sfumato.kinds[0]?.example??e;this.change({model:t,prompt:r,options:{},turns:[]})}submit(t){t.preventDefault(),!this.running&&this.asked.prompt.trim()!==""&&this.send("sf-run")}number(t,e,[s,i],n){return l`<label
      >${t}
      <input
        type="number"
        min=${s}
        max=${i}
        .value=${A(String(e))}
        @change=${o=>{const r=Math.round(o.target.valueAsNumber||s);this.change({[n]:Math.max(s,Math.min(i,r))}),this.requestUpdate()}}
    /></label>`}render(){const{model:t,prompt:e,turns:s,options:i,seed:n,count:o}=this.asked,r=this.cards.find(({id:a})=>a===t)??null,c=r?.sfumato.kinds??[];return l`${s.map(({role:a,content:h})=>l`<p class="turn ${a}">${h}</p>`)}
      ${s.length>0?l`<div class="row">
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
            .value=${A(e)}
            @input=${a=>this.change({prompt:a.target.value})}
            @keydown=${a=>{a.key==="Enter"&&(a.ctrlKey||a.metaKey)&&this.submit(a)}}
          ></textarea>
        </label>
        <div class="row">
          <label class="model"
            >Model
            <select @change=${a=>this.choose(a.target.value)}>
              ${this.cards.map(({id:a})=>l`<option value=${a} .selected=${a===t}>${a}</option>`)}
            </select></label
          >
          ${c.length===0?p:l`<label class="model"
                  >Examples
                  <select
                    @change=${a=>{const h=a.target;this.change({prompt:c[Number(h.value)]?.example??e}),h.value=""}}
                  >
                    <option value="">Training tasks</option>
                    ${c.map((a,h)=>l`<option value=${h}>${it(a)}</option>`)}
                  </select></label
                >`}
          ${this.number("Seed",n,[0,Mt],"seed")}
          ${this.number("Side by side",o,[1,H],"count")}
          ${ot({label:"Denoise",title:"Ctrl+Enter",isRunning:this.running,canStart:e.trim()!=="",stop:()=>this.send("sf-stop")})}
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
            .options=${i}
            @sf-options=${({detail:a})=>this.change({options:a})}
          ></sf-options>
        </details>
      </form>`}};g.styles=[O,J,R`
      .row > label {
        flex: 0 1 8rem;
      }
    `];$([m({attribute:!1})],g.prototype,"cards",2);$([m({attribute:!1})],g.prototype,"asked",2);$([m({type:Boolean})],g.prototype,"running",2);$([B("textarea")],g.prototype,"textarea",2);$([B("input[type=file]")],g.prototype,"file",2);g=$([E("sf-asking")],g);var qt=Object.defineProperty,jt=Object.getOwnPropertyDescriptor,w=(t,e,s,i)=>{for(var n=i>1?void 0:i?jt(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(n=(i?r(e,s,n):r(n))||n);return i&&n&&qt(e,s,n),n};let v=class extends _{constructor(){super(...arguments),this.tokens=[],this.pinned=!1,this.editable=!1,this.extending=!1}send(t){this.dispatchEvent(new CustomEvent("sf-token-action",{detail:t,bubbles:!0,composed:!0}))}write(t){t.preventDefault();const e=new FormData(t.target).get("text");typeof e=="string"&&this.send({kind:"write",text:e})}render(){const[t]=this.tokens;if(t===void 0)return p;const e=this.tokens.map(s=>s.text).join("");return l`<section
      class="card"
      aria-label="Selected tokens"
      @keydown=${s=>s.key==="Escape"&&this.send({kind:"close"})}
    >
      <header>
        <h2>
          <code>${JSON.stringify(e)}</code>
          ${this.tokens.length>1?l`<span class="muted">${this.tokens.length} tokens</span>`:p}
        </h2>
        <span class="row">
          <button aria-pressed=${String(this.extending)} @click=${()=>this.send({kind:"more"})}>
            Select more
          </button>
          <button class="quiet" aria-label="Close" @click=${()=>this.send({kind:"close"})}>✕</button>
        </span>
      </header>
      ${this.tokens.some(({history:s})=>s.length>1)?l`<p><span class="muted">History:</span> <code>${rt(this.tokens)}</code></p>`:p}
      ${this.tokens.length===1?this.about(t):p}
      ${this.editable?l`<div class="row">
              <button @click=${()=>this.send({kind:"pin"})}>${this.pinned?"Unpin":"Pin"}</button>
              <button @click=${()=>this.send({kind:"renoise"})}>Back to noise</button>
              <button @click=${()=>this.send({kind:"onwards"})}>Denoise again from here</button>
              <form @submit=${this.write}>
                <input
                  name="text"
                  aria-label="Replace with"
                  placeholder="Replace with …"
                  autocomplete="off"
                  required
                />
                <button>Replace</button>
              </form>
              <button @click=${()=>this.send({kind:"write",text:""})}>Delete</button>
            </div>`:p}
    </section>`}about(t){const e=t.alternatives?.top_logprobs??[],s=[t.confidence===null?null:`confidence ${(100*t.confidence).toFixed(1)}%`,t.entropy===null?null:`entropy ${t.entropy.toFixed(2)} nats`,lt(t.revisions,"revision")].filter(i=>i!==null);return l`<p class="figures">${s.join(" · ")}</p>
      ${e.length>0?l`<div>
              <p class="muted">Alternatives:</p>
              <div class="others">
                ${e.map(({token:i,logprob:n})=>l`<button
                      ?disabled=${!this.editable||i===t.text}
                      @click=${()=>this.send({kind:"write",text:i})}
                    >
                      ${JSON.stringify(i).slice(1,-1)||"∅"}
                      <small>${(100*Math.exp(n)).toFixed(1)}%</small>
                    </button>`)}
              </div>
            </div>`:p}`}};v.styles=[O,R`
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
    `];w([m({attribute:!1})],v.prototype,"tokens",2);w([m({type:Boolean})],v.prototype,"pinned",2);w([m({type:Boolean})],v.prototype,"editable",2);w([m({type:Boolean})],v.prototype,"extending",2);v=w([E("sf-token-panel")],v);const At=["steps","temperature","max_tokens","canvas_length","sampler"];function X({model:t,prompt:e,turns:s,options:i,seed:n}){const o=s.length===0?{prompt:e}:{messages:[...s,{role:"user",content:e}]};return{model:t,seed:n,...o,...i}}function y(t,e){const{model:s="",prompt:i,messages:n=[],seed:o=0}=t,r=Object.entries(t).filter(([c])=>At.includes(c));return{model:s,prompt:i??n.at(-1)?.content??"",turns:i===void 0?n.slice(0,-1):[],options:Object.fromEntries(r),seed:o,count:e}}function Dt(t){const e=X(y(t,1));return Object.keys(t).every(s=>s in e)}function K(t){const e=new TextEncoder().encode(JSON.stringify(t));return`#${btoa(Array.from(e,s=>String.fromCharCode(s)).join("")).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}`}function Rt(t){const{role:e,content:s}=t??{};return typeof e=="string"&&typeof s=="string"}function Tt(t){if(t.length<2)return null;try{const e=atob(t.slice(1).replaceAll("-","+").replaceAll("_","/")),s=new TextDecoder().decode(Uint8Array.from(e,P=>P.charCodeAt(0))),{seed:i,count:n,...o}=JSON.parse(s);if(typeof o.model!="string"||typeof o.prompt!="string")return null;const r=Array.isArray(o.turns)?o.turns.filter(Rt):[],c=typeof o.options=="object"&&o.options!==null?o.options:{},{model:a,prompt:h}=o;return{model:a,prompt:h,turns:r,options:c,seed:L(i,0),count:Math.max(1,L(n,1))}}catch{return null}}function L(t,e){return typeof t=="number"&&Number.isFinite(t)?t:e}var Ft=Object.defineProperty,Nt=Object.getOwnPropertyDescriptor,u=(t,e,s,i)=>{for(var n=i>1?void 0:i?Nt(e,s):e,o=t.length-1,r;o>=0;o--)(r=t[o])&&(n=(i?r(e,s,n):r(n))||n);return i&&n&&Ft(e,s,n),n};const j=[],Ut=1500,It=3;let d=class extends _{constructor(){super(...arguments),this.place="",this.asked={model:C("canvas.model",""),prompt:C("canvas.prompt",""),turns:[],options:{},seed:1,count:1},this.colouring=C("canvas.colouring","confidence"),this.takes=[],this.at=null,this.active=0,this.chosen=null,this.extending=!1,this.pins=[],this.request={},this.models=new at(this,({capabilities:t})=>t.includes("canvas"),()=>this.begin()),this.stopping=new AbortController,this.address="",this.steps=yt(),this.onKey=t=>{t.key==="Escape"&&this.chosen!==null&&(this.chosen=null);const e=kt(t);e!==0&&(t.preventDefault(),this.move(e))},this.openShared=()=>{const t=Tt(location.hash);t===null&&location.hash.length>1&&b("This link cannot be read."),!(t===null||(this.models.cards??[]).length===0)&&this.fill({...t,count:Math.min(H,t.count)})&&this.run()}}connectedCallback(){super.connectedCallback(),addEventListener("hashchange",this.openShared),addEventListener("keydown",this.onKey),this.address!==""&&(location.hash.length>1&&location.hash!==this.address?this.openShared():history.replaceState(history.state,"",this.address))}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("hashchange",this.openShared),removeEventListener("keydown",this.onKey)}begin(){const t=this.models.find(this.asked.model)??this.models.cards?.[0],e=$t(this.models.cards??[],D)===t?D:t?.sfumato.kinds[0]?.example,s=this.asked.prompt||(e??"");this.asked={...this.asked,model:t?.id??"",prompt:s},this.openShared()}get shown(){const t=this.takes.map(e=>e.status==="running"?{...e,status:"stopped"}:e);return{asked:this.asked,request:this.request,takes:t,pins:this.pins}}keepForUndo(){this.takes.length>0&&(this.steps=xt(I(this.steps,this.shown),this.shown))}move(t){const e=I(this.steps,this.shown),s=wt(e,t),i=s.at===e.at?void 0:St(s);Q(t,i!==void 0),i!==void 0&&(this.stopping.abort(),this.steps=s,{asked:this.asked,request:this.request,takes:this.takes,pins:this.pins}=i,[this.chosen,this.at]=[null,null],this.active=Math.min(this.active,i.takes.length-1))}get isRunning(){return this.takes.some(({status:t})=>t==="running")}get longest(){return this.takes.reduce((t,{frames:e})=>e.length>t.length?e:t,[])}fill(t){const e=this.models.find(t.model)!==void 0,{model:s}=this.asked;return this.asked=e?t:{...t,model:s,options:{}},e||b(`This server has no model named “${t.model}”; ${s} is chosen instead.`),e}run(){const{model:t,prompt:e,seed:s,count:i}=this.asked;t===""||e.trim()===""||(M("canvas.prompt",e),this.keepForUndo(),this.request=X(this.asked),[this.pins,this.chosen,this.at,this.active]=[[],null,null,0],this.takes=Array.from({length:i},(n,o)=>N(s+o)),this.address=K(this.asked),this.isConnected&&history.replaceState(history.state,"",this.address),this.start(this.takes.map((n,o)=>[o,{...this.request,seed:n.seed}])))}start(t){this.stopping.abort(),this.stopping=new AbortController;const{signal:e}=this.stopping;for(const[s,i]of t)this.follow(s,i,e)}async follow(t,e,s){const i=this.takes[t];if(i===void 0)return;let n=i;for await(const o of ht(et,i,e,s)){if(this.takes[t]!==n)return;this.takes=this.takes.with(t,n=o),o.status==="done"&&!this.isRunning&&this.replay(),o.status==="done"?q(`Seed ${o.seed}: ${S(k(o))}`):o.status==="failed"&&q(o.error??"")}}replay(){(k(this.takes[0]??N(0)).elapsedMs??1/0)>Ut||V()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play(It))}act({detail:t}){const e=this.takes[this.active];if(e===void 0||this.chosen===null)return;const s=k(e),[i,n]=this.chosen,o=U(s.tokens,i,n),r=S(s);switch(t.kind){case"more":this.extending=!this.extending;break;case"close":this.chosen=null;break;case"pin":this.keepForUndo(),this.setPins(this.isPinned(o)?this.activePins.filter(c=>!ut(c,o)):[...this.activePins,o]);break;case"renoise":this.denoise(dt([o],r.length));break;case"onwards":this.denoise([[0,o[0]]]);break;case"write":{this.keepForUndo();const c=ct(e,{from:i,to:n,text:t.text});this.setPins([...pt(this.activePins,o,t.text.length),[o[0],o[0]+t.text.length]]),this.takes=this.takes.map((a,h)=>h===this.active?c:a),this.chosen=null,this.at=null,q("Replaced. Denoise again to update the rest."),this.updateComplete.then(()=>this.focusToken(i))}}}focusToken(t){this.renderRoot.querySelectorAll("sf-take")[this.active]?.focusToken(t)}denoise(t){const e=this.takes[this.active];if(e===void 0)return;this.keepForUndo();const s=S(k(e));[this.chosen,this.at]=[null,null],this.start([[this.active,mt(this.request,s,t,e.seed+1e3*e.traces.length)]])}get activePins(){return this.pins[this.active]??j}setPins(t){this.pins=this.takes.map((e,s)=>s===this.active?t:this.pins[s]??j)}isPinned([t,e]){return this.activePins.some(([s,i])=>s<=t&&e<=i)}choose(t,e){const i=(e.extends||this.extending)&&t===this.active?this.chosen:null,[n,o]=i??[e.index,e.index+1];this.extending&&=i!==null,this.active=t,this.chosen=[Math.min(n,e.index),Math.max(o,e.index+1)]}reply(){const t=this.takes[this.active];if(t===void 0)return;this.keepForUndo();const{turns:e,prompt:s}=y(this.request,1),i={role:"user",content:s},n={role:"assistant",content:S(k(t))};this.asked={...this.asked,prompt:"",turns:[...e,i,n]},[this.takes,this.pins,this.chosen]=[[],[],null],b("The answer joined the conversation.",{label:"Undo",run:()=>this.move(-1)}),this.updateComplete.then(()=>this.renderRoot.querySelector("sf-asking")?.focus())}async share(){this.address=K(y(this.request,this.takes.length)),history.replaceState(null,"",this.address);const e=this.takes.some(s=>s.isEdited)||this.pins.some(({length:s})=>s>0)?"It runs this again without your changes; “Export” saves them.":Dt(this.request)?"It runs exactly this again.":"It runs this again without some of its settings; “Export” saves them.";try{await navigator.clipboard.writeText(location.href),b(`Link copied. ${e}`)}catch{b(`The link is in the address bar. ${e}`)}}export(){const t=this.takes[this.active]?.traces??[],e=t.at(-1);if(e===void 0)return;const s=[...t.slice(0,-1),{...e,pins:this.activePins}];W("trace.json",JSON.stringify(s),"application/json")}async open(t){if(t!==void 0)try{const e=ft(await t.text()),s=gt(e);this.start([]),this.keepForUndo(),this.request={model:e[0]?.model??"",...e[0]?.request,seed:s.seed},[this.takes,this.active,this.at,this.pins,this.chosen]=[[s],0,null,[e.at(-1)?.pins??[]],null],this.fill(y(this.request,1))&&b(`Opened ${vt(bt(s.frames))} of ${this.asked.model}.`)}catch(e){tt(e)}}render(){const t=this.models.notice("No model on this server writes on a canvas; start it with one: sfumato serve tiny");return t!==p?l`<h1>Canvas</h1>
        ${t}`:l`<div
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
        @sf-asked=${({detail:e})=>{this.asked=e,M("canvas.model",e.model)}}
        @sf-run=${()=>this.run()}
        @sf-stop=${()=>this.stopping.abort()}
        @sf-trace=${({detail:e})=>void this.open(e)}
      ></sf-asking>
      ${this.takes.length===0?p:this.result()}
    </div>`}result(){const t=this.takes[this.active]?.status==="failed",{prompt:e}=y(this.request,1);return l`<div class="takes">
        ${this.takes.map((s,i)=>l`<sf-take
              .take=${s}
              .at=${this.at}
              .colouring=${this.colouring}
              .active=${i===this.active}
              .chosen=${this.chosen}
              .pins=${this.pins[i]??j}
              .kinds=${nt(this.models.find(this.request.model),e)}
              @sf-token=${({detail:n})=>this.choose(i,n)}
              @sf-example=${({detail:n})=>{this.asked={...this.asked,prompt:n,model:this.request.model??""},this.run()}}
            ></sf-take>`)}
      </div>
      ${t&&this.longest.length===0?p:this.tools()}`}tools(){const t=this.takes[this.active],e=t===void 0?[]:k(t).tokens,s=!this.isRunning&&this.at===null&&this.models.find(this.request.model)!==void 0,i=t?.status==="failed",n=this.models.find(this.request.model)?.sfumato.kinds.length===0,[o,r]=this.chosen??[0,0],{all:c,at:a}=this.steps;return l`<sf-scrubber
        .frames=${this.longest}
        .at=${this.at??Math.max(0,this.longest.length-1)}
        @sf-at=${({detail:h})=>{this.at=h>=this.longest.length-1?null:h,this.at!==null&&(this.chosen=null)}}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:h})=>{this.colouring=h,M("canvas.colouring",h)}}
        ></sf-colouring>
        <span class="row">
          ${this.activePins.length>0&&s?l`<button class="primary" @click=${()=>this.denoise(this.activePins)}>
                  Denoise all but the pins
                </button>`:p}
          <button ?disabled=${a<1||this.isRunning} title="Ctrl+Z" @click=${()=>this.move(-1)}>
            Undo
          </button>
          <button
            ?disabled=${a>=c.length-1||this.isRunning}
            title="Ctrl+Shift+Z"
            @click=${()=>this.move(1)}
          >
            Redo
          </button>
          ${n?l`<button ?disabled=${!s||i} @click=${()=>this.reply()}>
                  Reply
                </button>`:p}
          <button ?disabled=${i} @click=${()=>this.share()}>Share</button>
          <button
            ?disabled=${this.isRunning||(t?.traces.length??0)===0}
            @click=${()=>this.export()}
          >
            Export
          </button>
        </span>
      </div>
      ${this.chosen===null?l`<p class="muted">${this.hint(e.length)}</p>`:l`<sf-token-panel
              .tokens=${e.slice(o,r)}
              .pinned=${this.isPinned(U(e,o,r))}
              .editable=${s}
              .extending=${this.extending}
              @sf-token-action=${h=>this.act(h)}
            ></sf-token-panel>`}`}hint(t){return t===0||this.isRunning?"":this.at!==null?"Go to the last step to select tokens.":"Click a token to see alternatives, pin it or replace it; Shift-click or “Select more” selects several."}};d.styles=[O,J];u([m()],d.prototype,"place",2);u([f()],d.prototype,"asked",2);u([f()],d.prototype,"colouring",2);u([f()],d.prototype,"takes",2);u([f()],d.prototype,"at",2);u([f()],d.prototype,"active",2);u([f()],d.prototype,"chosen",2);u([f()],d.prototype,"extending",2);u([f()],d.prototype,"pins",2);u([f()],d.prototype,"steps",2);d=u([E("sf-canvas-page")],d);export{d as CanvasPage};
