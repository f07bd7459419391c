import{g as M,s as y,b as $,q as v,u as R,h as O,A as m,d,e as L,i as P,n as W,r as c,w as _}from"./index-B3E5B1W5.js";import{p as j}from"./canvas-styles-BGu5uFqt.js";import{a as C,e as A,t as T}from"./canvas-BqwZnn-S.js";import{w as D,b as I,n as E,l as g}from"./take-Cb18_Fsc.js";import"./canvas-Bo2askCk.js";import"./offsets-EgNy2a1f.js";const N="sfumato-tab-models";async function B(){try{return await caches.open(N)}catch{return}}async function F(e){let s;try{s=await fetch(e)}catch{throw new Error(`${e} cannot be got: there is no network, and this browser has not kept it`)}if(!s.ok)throw new Error(`${e} cannot be got: the server says ${s.status}`);return s}async function K(e){const s=await B();try{const t=await F(e);return await s?.put(e,t.clone()),await t.json()}catch(t){const o=await s?.match(e);if(o===void 0)throw t;return await o.json()}}const k=60;function U(e,s,t){const o=({pattern:r})=>typeof r!="string"||new RegExp(`^(?:${r})$`,"s").test(e);if(s.length===0||s.some(o))return null;const i=e.length<=k?e:`${e.slice(0,k)}...`,n=s.map(({name:r,example:u})=>`${r}: ${JSON.stringify(u)}`);return`${t} was not trained on prompts like ${JSON.stringify(i)}. It knows, for example:
${n.join(`
`)}`}const J=[0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,10,1,8,0,65,0,253,15,253,98,11];function q(){if(typeof WebAssembly!="object"||!WebAssembly.validate(Uint8Array.from(J)))throw new Error("this browser has no WebAssembly with SIMD, which the tab computes with; use one of 2023 or later, or the server's canvas page")}class H{constructor(s){this.runs=0,this.onLoad=null,this.onRun=null,q(),this.worker=s??new Worker(new URL("/assets/worker-CB3LTKCE.js",import.meta.url),{type:"module"}),this.worker.addEventListener("message",({data:t})=>{(t.kind==="event"||t.kind==="failed"&&t.id!==null?this.onRun:this.onLoad)?.(t)}),this.worker.addEventListener("error",({message:t})=>{const o={kind:"failed",message:t||"the tab's worker could not be started"};this.onLoad?.({...o,id:null}),this.onRun?.({...o,id:this.runs})})}send(s){this.worker.postMessage(s)}load(s,t){return new Promise((o,i)=>{this.onLoad=n=>{n.kind==="progress"?t(n.loaded,n.total):n.kind==="failed"?i(new Error(n.message)):n.kind==="ready"&&(z(n.urls),o(n))},this.send({kind:"load",model:s})})}async*run(s,t,o){const i=++this.runs,n=[];let r=()=>{};this.onRun=h=>{n.push(h),r()},this.send({kind:"run",id:i,prompt:t,seed:o});const u=E(o);let w=[],p=A(""),f=[];for(;;){const h=n.shift();if(h===void 0){await new Promise(S=>r=S);continue}if(h.kind==="failed"&&h.id===i){yield{...u,frames:f,status:"failed",error:h.message};return}if(h.kind!=="event"||h.id!==i)continue;w=[...w,h.event],p=C(p,h.event),f=D(f,p,h.event);const b=h.event.type==="canvas.done",x=b?p.status==="cancelled"?"stopped":"done":"running";if(yield{...u,traces:[I(s,{model:s,prompt:t,seed:o},w)],frames:f,status:x},b)return}}stop(){this.send({kind:"stop"})}close(){this.worker.terminate()}}const V="sfumato-tab-shell";async function z(e){if("serviceWorker"in navigator)try{await navigator.serviceWorker.register("/tab-worker.js",{scope:"/"});const s=await caches.open(V),o=performance.getEntriesByType("resource").map(({name:r})=>new URL(r)).filter(({origin:r,pathname:u})=>r===location.origin&&/^\/(assets\/|icon\.svg)/.test(u)),i=new Set([...o.map(({href:r})=>r),...e,"/tab"].map(r=>new URL(r,location.href).href)),n=new Map((await s.keys()).map(r=>[r.url,r]));if(navigator.onLine){await s.addAll([...i].filter(r=>!n.has(r)||r.endsWith("/tab")));for(const[r,u]of n)i.has(r)||await s.delete(u)}document.documentElement.dataset.offline="ready"}catch{}}var G=Object.defineProperty,Q=Object.getOwnPropertyDescriptor,l=(e,s,t,o)=>{for(var i=o>1?void 0:o?Q(s,t):s,n=e.length-1,r;n>=0;n--)(r=e[n])&&(i=(o?r(s,t,i):r(i))||i);return o&&i&&G(s,t,i),i};const X=1500;let a=class extends M{constructor(){super(...arguments),this.place="",this.offered=[],this.model=y("tab.model",""),this.loaded=null,this.progress=null,this.error=null,this.refusal=null,this.prompt="",this.seed=1,this.colouring=y("tab.colouring","confidence"),this.take=null,this.at=null,this.session=null}connectedCallback(){super.connectedCallback(),this.begin().catch(e=>this.fail(e))}disconnectedCallback(){super.disconnectedCallback(),this.session?.close()}async begin(){this.offered=await K("/tab/models/index.json"),this.offered.some(({name:e})=>e===this.model)||(this.model=this.offered[0]?.name??""),await this.load()}async load(){[this.loaded,this.error,this.progress]=[null,null,{loaded:0,total:0}],this.session?.close();const e=new H;this.session=e;try{const s=await e.load(this.model,(t,o)=>{e===this.session&&(this.progress={loaded:t,total:o})});if(e!==this.session)return;this.loaded=s,this.prompt=s.kinds[0]?.example??this.prompt,$(`${this.model} is here.`)}finally{e===this.session&&(this.progress=null)}}fail(e){this.error=e instanceof Error?e.message:String(e)}choose(e){this.model=e.target.value,v("tab.model",this.model),[this.take,this.refusal]=[null,null],this.load().catch(s=>this.fail(s))}get isRunning(){return this.take?.status==="running"}async run(){if(this.session===null||this.loaded===null||this.isRunning||this.prompt.trim()===""||(this.at=null,this.refusal=U(this.prompt,this.loaded.kinds,this.model),this.refusal!==null))return;let e=E(this.seed);this.take=e;for await(const s of this.session.run(this.model,this.prompt,this.seed))this.take=e=s;e.status==="failed"?R(new Error(e.error??"")):($(`Seed ${this.seed}: ${T(g(e))}`),this.replay(g(e).elapsedMs??1/0))}replay(e){e>X||O()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}render(){return d`<div class="page">
      <h1>In this tab</h1>
      <p class="muted">
        The model runs in the browser. It is downloaded once; after that the page needs neither the server nor
        a network.
      </p>
      ${this.status()} ${this.loaded===null?m:this.form()}
      ${this.refusal===null?m:d`<p class="card refusal error" role="alert">${this.refusal}</p>`}
      ${this.take===null?m:this.result(this.take)}
    </div>`}status(){if(this.error!==null)return d`<div class="card" role="alert">
        <p class="error">${this.error}</p>
        <button @click=${()=>this.begin().catch(i=>this.fail(i))}>Try again</button>
      </div>`;if(this.progress===null)return m;const{loaded:e,total:s}=this.progress,t=s>0&&e>=s,o=i=>(i/1e6).toFixed(1);return d`<label
      >${t?`Preparing ${this.model} …`:`Downloading ${this.model}: ${o(e)} of ${o(s)} MB`}
      <progress max=${s||1} .value=${e}></progress>
    </label>`}form(){const e=this.loaded?.kinds??[],s=t=>{t.preventDefault(),this.run()};return d`<form @submit=${s}>
      <label
        >Prompt
        <textarea
          rows=${Math.min(10,Math.max(2,this.prompt.split(`
`).length))}
          .value=${this.prompt}
          @input=${t=>this.prompt=t.target.value}
          @keydown=${t=>{t.key==="Enter"&&(t.ctrlKey||t.metaKey)&&s(t)}}
        ></textarea>
      </label>
      <div class="row">
        <label class="model"
          >Model
          <select ?disabled=${this.isRunning} @change=${t=>this.choose(t)}>
            ${this.offered.map(({name:t,bytes:o})=>d`<option value=${t} .selected=${t===this.model}>
                  ${t} (${(o/1e6).toFixed(0)} MB)
                </option>`)}
          </select></label
        >
        <label class="model"
          >Examples
          <select
            @change=${t=>{const o=t.target;this.prompt=e[Number(o.value)]?.example??this.prompt,o.value=""}}
          >
            <option value="">What it was trained on …</option>
            ${e.map(({name:t},o)=>d`<option value=${o}>${t.replaceAll("_"," ")}</option>`)}
          </select></label
        >
        <label
          >Seed
          <input
            type="number"
            min="0"
            .value=${String(this.seed)}
            @change=${t=>{const o=Math.round(t.target.valueAsNumber||0);this.seed=Math.max(0,Math.min(2**31,o))}}
        /></label>
        ${this.isRunning?d`<button type="button" @click=${()=>this.session?.stop()}>Stop</button>`:d`<button class="primary" title="Ctrl+Enter" ?disabled=${this.prompt.trim()===""}>
                Denoise
              </button>`}
      </div>
    </form>`}result(e){const{usage:s}=g(e).ending,t=s===void 0?null:1e3*s.total_s/Math.max(1,s.forward_passes);return d`<sf-take .take=${e} .at=${this.at} .colouring=${this.colouring} active></sf-take>
      <sf-scrubber
        .count=${e.frames.length}
        .at=${this.at??Math.max(0,e.frames.length-1)}
        @sf-at=${({detail:o})=>this.at=o>=e.frames.length-1?null:o}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:o})=>{this.colouring=o,v("tab.colouring",o)}}
        ></sf-colouring>
        <span class="figures"
          >${t===null?"":`${t.toFixed(1)} ms a pass · `}${this.loaded?.threads===1?"1 thread":`${this.loaded?.threads??1} threads`}</span
        >
      </div>`}};a.styles=[L,j,P`
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
    `];l([W()],a.prototype,"place",2);l([c()],a.prototype,"offered",2);l([c()],a.prototype,"model",2);l([c()],a.prototype,"loaded",2);l([c()],a.prototype,"progress",2);l([c()],a.prototype,"error",2);l([c()],a.prototype,"refusal",2);l([c()],a.prototype,"prompt",2);l([c()],a.prototype,"seed",2);l([c()],a.prototype,"colouring",2);l([c()],a.prototype,"take",2);l([c()],a.prototype,"at",2);a=l([_("sf-tab-page")],a);export{a as TabPage};
