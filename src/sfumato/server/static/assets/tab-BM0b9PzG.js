import{g as S,p as y,b as $,o as v,q as M,A as w,d,e as O,i as R,n as L,r as c,t as C}from"./index-CQm9gEn0.js";import{C as P}from"./canvas-S5d3sIH8.js";import{p as W}from"./canvas-styles-CwLXbfE4.js";import{a as _,e as j,t as A}from"./canvas-BqwZnn-S.js";import{w as T,b as N,n as D,l as g}from"./take-e_k57EW5.js";import"./offsets-EgNy2a1f.js";const I="sfumato-tab-models";async function B(){try{return await caches.open(I)}catch{return}}async function U(t){let s;try{s=await fetch(t)}catch{throw new Error(`${t} cannot be got: there is no network, and this browser has not kept it`)}if(!s.ok)throw new Error(`${t} cannot be got: the server says ${s.status}`);return s}async function F(t){const s=await B();try{const e=await U(t);return await s?.put(t,e.clone()),await e.json()}catch(e){const o=await s?.match(t);if(o===void 0)throw e;return await o.json()}}const k=60;function H(t,s,e){const o=({pattern:i})=>typeof i!="string"||new RegExp(`^(?:${i})$`,"s").test(t);if(s.length===0||s.some(o))return null;const r=t.length<=k?t:`${t.slice(0,k)}...`,n=s.map(({name:i,example:u})=>`${i}: ${JSON.stringify(u)}`);return`The prompt ${JSON.stringify(r)} is of no kind that ${e} was trained on. By example:
${n.join(`
`)}`}const J=[0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,10,1,8,0,65,0,253,15,253,98,11];function K(){if(typeof WebAssembly!="object"||!WebAssembly.validate(Uint8Array.from(J)))throw new Error("this browser has no WebAssembly with SIMD, which the tab computes with; use one of 2023 or later, or the server's canvas page")}class q{constructor(s){this.runs=0,this.onLoad=null,this.onRun=null,K(),this.worker=s??new Worker(new URL("/assets/worker-CY00YHl1.js",import.meta.url),{type:"module"}),this.worker.addEventListener("message",({data:e})=>{(e.kind==="event"||e.kind==="failed"&&e.id!==null?this.onRun:this.onLoad)?.(e)}),this.worker.addEventListener("error",({message:e})=>{const o={kind:"failed",message:e||"the tab's worker could not be started"};this.onLoad?.({...o,id:null}),this.onRun?.({...o,id:this.runs})})}send(s){this.worker.postMessage(s)}load(s,e){return new Promise((o,r)=>{this.onLoad=n=>{n.kind==="progress"?e(n.loaded,n.total):n.kind==="failed"?r(new Error(n.message)):n.kind==="ready"&&(V(n.urls),o(n))},this.send({kind:"load",model:s})})}async*run(s,e,o){const r=++this.runs,n=[];let i=()=>{};this.onRun=h=>{n.push(h),i()},this.send({kind:"run",id:r,prompt:e,seed:o});const u=D(o);let m=[],p=j(""),f=[];for(;;){const h=n.shift();if(h===void 0){await new Promise(E=>i=E);continue}if(h.kind==="failed"&&h.id===r){yield{...u,frames:f,status:"failed",error:h.message};return}if(h.kind!=="event"||h.id!==r)continue;m=[...m,h.event],p=_(p,h.event),f=T(f,p,h.event);const b=h.event.type==="canvas.done",x=b?p.status==="cancelled"?"stopped":"done":"running";if(yield{...u,traces:[N(s,{model:s,prompt:e,seed:o},m)],frames:f,status:x},b)return}}stop(){this.send({kind:"stop"})}close(){this.worker.terminate()}}const G="sfumato-tab-shell";async function V(t){if("serviceWorker"in navigator)try{await navigator.serviceWorker.register("/tab-worker.js",{scope:"/tab"});const s=await caches.open(G),o=performance.getEntriesByType("resource").map(({name:i})=>new URL(i)).filter(({origin:i,pathname:u})=>i===location.origin&&/^\/(assets\/|icon\.svg)/.test(u)),r=new Set([...o.map(({href:i})=>i),...t,"/tab"].map(i=>new URL(i,location.href).href)),n=new Map((await s.keys()).map(i=>[i.url,i]));if(navigator.onLine){await s.addAll([...r].filter(i=>!n.has(i)||i.endsWith("/tab")));for(const[i,u]of n)r.has(i)||await s.delete(u)}document.documentElement.dataset.offline="ready"}catch{}}var Y=Object.defineProperty,z=Object.getOwnPropertyDescriptor,l=(t,s,e,o)=>{for(var r=o>1?void 0:o?z(s,e):s,n=t.length-1,i;n>=0;n--)(i=t[n])&&(r=(o?i(s,e,r):i(r))||r);return o&&r&&Y(s,e,r),r};const Q=1500;let a=class extends S{constructor(){super(...arguments),this.place="",this.offered=[],this.model=y("tab.model",""),this.loaded=null,this.progress=null,this.error=null,this.refusal=null,this.prompt="",this.seed=1,this.colouring=y("tab.colouring","confidence"),this.take=null,this.at=null,this.session=null}connectedCallback(){super.connectedCallback(),this.begin().catch(t=>this.fail(t))}disconnectedCallback(){super.disconnectedCallback(),this.session?.close()}async begin(){this.offered=await F("/tab/models/index.json"),this.offered.some(({name:t})=>t===this.model)||(this.model=this.offered[0]?.name??""),await this.load()}async load(){[this.loaded,this.error,this.progress]=[null,null,{loaded:0,total:0}],this.session?.close();const t=new q;this.session=t;try{const s=await t.load(this.model,(e,o)=>{t===this.session&&(this.progress={loaded:e,total:o})});if(t!==this.session)return;this.loaded=s,this.prompt=s.kinds[0]?.example??this.prompt,$(`${this.model} is here.`)}finally{t===this.session&&(this.progress=null)}}fail(t){this.error=t instanceof Error?t.message:String(t)}choose(t){this.model=t.target.value,v("tab.model",this.model),[this.take,this.refusal]=[null,null],this.load().catch(s=>this.fail(s))}get isRunning(){return this.take?.status==="running"}async run(){if(!(this.session===null||this.loaded===null||this.isRunning||this.prompt.trim()==="")&&(this.at=null,this.refusal=H(this.prompt,this.loaded.kinds,this.model),this.refusal===null)){for await(const t of this.session.run(this.model,this.prompt,this.seed))this.take=t;this.take?.status==="failed"?M(new Error(this.take.error??"")):this.take!==null&&($(`Seed ${this.seed}: ${A(g(this.take))}`),this.replay(g(this.take).elapsedMs??1/0))}}replay(t){t>Q||matchMedia("(prefers-reduced-motion: reduce)").matches||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}render(){return d`<div class="page">
      <h1>In this tab</h1>
      <p class="muted">
        The model runs in the browser. It is got once and kept; then nothing is asked of the server, and the
        page works without a network.
      </p>
      ${this.status()} ${this.loaded===null?w:this.form()}
      ${this.take===null?w:this.result(this.take)}
    </div>`}status(){if(this.error!==null)return d`<div class="card" role="alert">
        <p class="error">${this.error}</p>
        <button @click=${()=>this.begin().catch(r=>this.fail(r))}>Try again</button>
      </div>`;if(this.progress===null)return w;const{loaded:t,total:s}=this.progress,e=s>0&&t>=s,o=r=>(r/1e6).toFixed(1);return d`<label role="status"
      >${e?`Preparing ${this.model} …`:`Getting ${this.model}: ${o(t)} of ${o(s)} MB`}
      <progress max=${s||1} .value=${t}></progress>
    </label>`}form(){const t=this.loaded?.kinds??[],s=e=>{e.preventDefault(),this.run()};return d`<form @submit=${s}>
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
          <select ?disabled=${this.isRunning} @change=${e=>this.choose(e)}>
            ${this.offered.map(({name:e,bytes:o})=>d`<option value=${e} ?selected=${e===this.model}>
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
            ${t.map(({name:e},o)=>d`<option value=${o}>${e.replaceAll("_"," ")}</option>`)}
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
        ${this.isRunning?d`<button type="button" @click=${()=>this.session?.stop()}>Stop</button>`:d`<button class="primary" title="Ctrl+Enter" ?disabled=${this.prompt.trim()===""}>
                Denoise
              </button>`}
      </div>
    </form>`}result(t){const{usage:s}=g(t).ending,e=s===void 0?null:1e3*s.total_s/Math.max(1,s.forward_passes);return d`<sf-take .take=${t} .at=${this.at} .colouring=${this.colouring} active></sf-take>
      <sf-scrubber
        .count=${t.frames.length}
        .at=${this.at??Math.max(0,t.frames.length-1)}
        @sf-at=${({detail:o})=>this.at=o>=t.frames.length-1?null:o}
      ></sf-scrubber>
      <div class="row bar">
        <label
          >Colour by
          <select
            @change=${o=>{this.colouring=o.target.value,v("tab.colouring",this.colouring)}}
          >
            ${P.map(o=>d`<option value=${o} ?selected=${o===this.colouring}>${o}</option>`)}
          </select></label
        >
        <span class="figures"
          >${e===null?"":`${e.toFixed(1)} ms a pass · `}${this.loaded?.threads===1?"1 thread":`${this.loaded?.threads??1} threads`}</span
        >
      </div>`}};a.styles=[O,W,R`
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
    `];l([L()],a.prototype,"place",2);l([c()],a.prototype,"offered",2);l([c()],a.prototype,"model",2);l([c()],a.prototype,"loaded",2);l([c()],a.prototype,"progress",2);l([c()],a.prototype,"error",2);l([c()],a.prototype,"refusal",2);l([c()],a.prototype,"prompt",2);l([c()],a.prototype,"seed",2);l([c()],a.prototype,"colouring",2);l([c()],a.prototype,"take",2);l([c()],a.prototype,"at",2);a=l([C("sf-tab-page")],a);export{a as TabPage};
