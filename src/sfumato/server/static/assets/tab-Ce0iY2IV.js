import{g as L,u as $,n as v,t as y,b as k,w as j,h as P,A as m,d as c,e as T,i as W,o as _,r as d,y as A}from"./index-DndOhkh0.js";import{p as C}from"./take-7kgOWQks.js";import{a as D,e as I,t as N}from"./canvas-BqwZnn-S.js";import{a as B}from"./files-CTAAkA73.js";import{w as F,b as K,n as O,l as b}from"./take-D0BNUl8t.js";import{i as U}from"./style-map-C9NygBNr.js";import"./canvas-CDy-MOXa.js";import"./offsets-EgNy2a1f.js";import"./examples-BH2GzPKz.js";const J="sfumato-tab-models";async function E(){try{return await caches.open(J)}catch{return}}async function V(t){let s;try{s=await fetch(t)}catch{throw new Error("the server cannot be reached, and this browser has not stored it")}if(!s.ok)throw new Error(`the server answered ${s.status} for ${t}`);return s}async function H(t){const s=await E();try{const e=await V(t);return await s?.put(t,e.clone()),await e.json()}catch(e){const o=await s?.match(t);if(o===void 0)throw e;return await o.json()}}async function Z(t){const s=await E(),e=await s?.match(`${t}/export.json`);if(s===void 0||e===void 0)return!1;const{files:o}=await e.json();return(await Promise.all(Object.entries(o).map(([n,{sha256:r}])=>s.match(q(t,n,r))))).every(n=>n!==void 0)}const q=(t,s,e)=>`${t}/${s}?${e}`,x=60;function Y(t,s,e){if(s.length===0||s.some(n=>U(n,t)??!0))return null;const o=t.length<=x?t:`${t.slice(0,x)}...`,i=s.map(({name:n,example:r})=>`${n}: ${JSON.stringify(r)}`);return`${e} was not trained on prompts like ${JSON.stringify(o)}. It knows, for example:
${i.join(`
`)}`}const z=[0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,10,1,8,0,65,0,253,15,253,98,11];function G(){if(typeof WebAssembly!="object"||!WebAssembly.validate(Uint8Array.from(z)))throw new Error("this browser has no WebAssembly with SIMD, which the tab computes with; use one of 2023 or later, or the server's canvas page")}class Q{constructor(s){this.runs=0,this.onLoad=null,this.onRun=null,G(),this.worker=s??new Worker(new URL("/assets/worker-BIZZOCVT.js",import.meta.url),{type:"module"}),this.worker.addEventListener("message",({data:e})=>{(e.kind==="event"||e.kind==="failed"&&e.id!==null?this.onRun:this.onLoad)?.(e)}),this.worker.addEventListener("error",({message:e})=>{const o={kind:"failed",message:e||"the tab's worker could not be started"};this.onLoad?.({...o,id:null}),this.onRun?.({...o,id:this.runs})})}send(s){this.worker.postMessage(s)}load(s,e){return new Promise((o,i)=>{this.onLoad=n=>{n.kind==="progress"?e(n.loaded,n.total):n.kind==="failed"?i(new Error(n.message)):n.kind==="ready"&&(ee(n.urls),o(n))},this.send({kind:"load",model:s})})}async*run(s,e,o){const i=++this.runs,n=[];let r=()=>{};this.onRun=h=>{n.push(h),r()},this.send({kind:"run",id:i,prompt:e,seed:o});const u=O(o);let w=[],p=I(""),f=[];for(;;){const h=n.shift();if(h===void 0){await new Promise(R=>r=R);continue}if(h.kind==="failed"&&h.id===i){yield{...u,frames:f,status:"failed",error:h.message};return}if(h.kind!=="event"||h.id!==i)continue;w=[...w,h.event],p=D(p,h.event),f=F(f,p,h.event);const g=h.event.type==="canvas.done",S=g?p.status==="cancelled"?"stopped":"done":"running";if(yield{...u,traces:[K(s,{model:s,prompt:e,seed:o},w)],frames:f,status:S},g)return}}stop(){this.send({kind:"stop"})}close(){this.worker.terminate()}}const X="sfumato-tab-shell";async function ee(t){if("serviceWorker"in navigator)try{await navigator.serviceWorker.register("/tab-worker.js",{scope:"/"});const s=await caches.open(X),o=performance.getEntriesByType("resource").map(({name:r})=>new URL(r)).filter(({origin:r,pathname:u})=>r===location.origin&&/^\/(assets\/|icon\.svg)/.test(u)),i=new Set([...o.map(({href:r})=>r),...t,"/tab"].map(r=>new URL(r,location.href).href)),n=new Map((await s.keys()).map(r=>[r.url,r]));if(navigator.onLine){await s.addAll([...i].filter(r=>!n.has(r)||r.endsWith("/tab")));for(const[r,u]of n)i.has(r)||await s.delete(u)}document.documentElement.dataset.offline="ready"}catch{}}var te=Object.defineProperty,se=Object.getOwnPropertyDescriptor,l=(t,s,e,o)=>{for(var i=o>1?void 0:o?se(s,e):s,n=t.length-1,r;n>=0;n--)(r=t[n])&&(i=(o?r(s,e,i):r(i))||i);return o&&i&&te(s,e,i),i};const oe=1500,M="/tab/models";let a=class extends L{constructor(){super(...arguments),this.place="",this.offered=[],this.model=$("tab.model",""),this.loaded=null,this.progress=null,this.failure=null,this.refusal=null,this.prompt="",this.seed=1,this.colouring=$("tab.colouring","confidence"),this.take=null,this.at=null,this.session=null,this.next=null}connectedCallback(){super.connectedCallback(),this.begin()}disconnectedCallback(){super.disconnectedCallback(),this.next?.close(),this.session?.close()}async begin(){this.failure=null;try{this.offered=await H(`${M}/index.json`)}catch(e){this.failure={model:null,why:v(e)};return}const t=this.offered.map(({name:e})=>e),s=t.includes(this.model)?this.model:t[0]??"";await this.load(s);for(const e of t){if(this.loaded!==null||this.next!==null)return;e!==s&&await Z(`${M}/${e}`)&&await this.load(e)}}async load(t){if(this.next?.close(),[this.next,this.model,this.progress]=[null,t,null],t===this.loaded?.model)return;this.progress={loaded:0,total:0};const s=this.prompt;let e=null;try{this.next=e=new Q;const o=await e.load(t,(i,n)=>{e===this.next&&(this.progress={loaded:i,total:n})});if(e!==this.next)return;this.session?.close(),this.prompt===s&&(this.prompt=o.kinds[0]?.example??s),[this.session,this.next,this.loaded]=[e,null,o],[this.take,this.refusal]=[null,null],y("tab.model",t),k(`${t} is here.`)}catch(o){if(e!==this.next)return;e?.close(),this.next=null,this.failure??={model:t,why:v(o)},this.model=this.loaded?.model??t}this.progress=null}choose(t){this.failure=null,this.load(t)}get isRunning(){return this.take?.status==="running"}get canRun(){return this.loaded!==null&&this.progress===null&&this.prompt.trim()!==""}async run(){if(this.session===null||this.loaded===null||this.isRunning||!this.canRun||(this.at=null,this.refusal=Y(this.prompt,this.loaded.kinds,this.loaded.model),this.refusal!==null))return;let t=O(this.seed);this.take=t;for await(const s of this.session.run(this.loaded.model,this.prompt,this.seed))this.take=t=s;t.status==="failed"?j(new Error(t.error??"")):(k(`Seed ${this.seed}: ${N(b(t))}`),this.replay(b(t).elapsedMs??1/0))}replay(t){t>oe||P()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}render(){return c`<div class="page">
      <h1>Tab</h1>
      <p class="muted">
        A model runs in this browser tab. It is downloaded once; after that the page needs neither the server
        nor a network.
      </p>
      ${this.status()} ${this.offered.length===0?m:this.form()}
      ${this.refusal===null?m:c`<p class="card refusal error" role="alert">${this.refusal}</p>`}
      ${this.take===null?m:this.result(this.take)}
    </div>`}status(){if(this.progress===null)return this.failure===null?m:this.failed(this.failure);const{loaded:t,total:s}=this.progress,e=s>0&&t>=s,o=i=>(i/1e6).toFixed(1);return c`<label
      >${e?`Preparing ${this.model} …`:`Downloading ${this.model}: ${o(t)} of ${o(s)} MB`}
      <progress max=${s||1} .value=${t}></progress>
    </label>`}failed({model:t,why:s}){const e=()=>this.loaded===null||t===null?void this.begin():this.choose(t),o=t===null?"The list of models":`The model ${t}`,i=this.loaded===null?"":` You can go on with ${this.loaded.model}.`;return c`<div class="card" role="alert">
      <p class="error">${B(`${o} could not be loaded: ${s}`)}${i}</p>
      <button @click=${e}>Try again</button>
    </div>`}form(){const t=this.loaded?.kinds??[],s=e=>{e.preventDefault(),this.run()};return c`<form @submit=${s}>
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
          <select ?disabled=${this.isRunning} @change=${this.onModel}>
            ${this.offered.map(({name:e,bytes:o})=>c`<option value=${e} .selected=${e===this.model}>
                  ${e} (${(o/1e6).toFixed(0)} MB)
                </option>`)}
          </select></label
        >
        <label class="model"
          >Examples
          <select
            @change=${e=>{const o=e.target;this.prompt=t[Number(o.value)]?.example??this.prompt,o.value=""}}
          >
            <option value="">What it was trained on …</option>
            ${t.map(({name:e},o)=>c`<option value=${o}>${e.replaceAll("_"," ")}</option>`)}
          </select></label
        >
        <label
          >Seed
          <input
            type="number"
            min="0"
            .value=${String(this.seed)}
            @change=${e=>{const o=Math.round(e.target.valueAsNumber||0);this.seed=Math.max(0,Math.min(2**31,o))}}
        /></label>
        ${this.isRunning?c`<button type="button" @click=${()=>this.session?.stop()}>Stop</button>`:c`<button class="primary" title="Ctrl+Enter" ?disabled=${!this.canRun}>Denoise</button>`}
      </div>
    </form>`}onModel(t){this.choose(t.target.value)}result(t){const{usage:s}=b(t).ending,e=s===void 0?null:1e3*s.total_s/Math.max(1,s.forward_passes);return c`<sf-take .take=${t} .at=${this.at} .colouring=${this.colouring} active></sf-take>
      <sf-scrubber
        .frames=${t.frames}
        .at=${this.at??Math.max(0,t.frames.length-1)}
        @sf-at=${({detail:o})=>this.at=o>=t.frames.length-1?null:o}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:o})=>{this.colouring=o,y("tab.colouring",o)}}
        ></sf-colouring>
        <span class="figures"
          >${e===null?"":`${e.toFixed(1)} ms a pass · `}${this.loaded?.threads===1?"1 thread":`${this.loaded?.threads??1} threads`}</span
        >
      </div>`}};a.styles=[T,C,W`
      p {
        margin: 0;
      }
      .refusal {
        white-space: pre-wrap;
        overflow-wrap: anywhere;
      }
      progress {
        width: 100%;
        accent-color: var(--accent);
      }
    `];l([_()],a.prototype,"place",2);l([d()],a.prototype,"offered",2);l([d()],a.prototype,"model",2);l([d()],a.prototype,"loaded",2);l([d()],a.prototype,"progress",2);l([d()],a.prototype,"failure",2);l([d()],a.prototype,"refusal",2);l([d()],a.prototype,"prompt",2);l([d()],a.prototype,"seed",2);l([d()],a.prototype,"colouring",2);l([d()],a.prototype,"take",2);l([d()],a.prototype,"at",2);a=l([A("sf-tab-page")],a);export{a as TabPage};
