import{g as j,v as $,n as y,u as k,b as m,y as L,j as _,A as g,d as c,z as A,e as P,i as T,o as W,r as h,C}from"./index-CMMe71eo.js";import{p as D}from"./take-BbVSBBn8.js";import{s as I}from"./start-stop-iAhsBg9B.js";import{a as N,e as B,t as F}from"./canvas-BqwZnn-S.js";import{k as U}from"./style-map-Dfcu4NBq.js";import{w as K,b as V,n as S,l as b}from"./take-R79uc_On.js";import"./canvas-DwdqAIXd.js";import"./offsets-EgNy2a1f.js";import"./examples-Vs3VEqa4.js";const H="sfumato-tab-models";async function R(){try{return await caches.open(H)}catch{return}}async function J(e){let s;try{s=await fetch(e)}catch{throw new Error("the server cannot be reached, and this browser has not stored it")}if(!s.ok)throw new Error(`the server answered ${s.status} for ${e}`);return s}async function Z(e){const s=await R();try{const t=await J(e);return await s?.put(e,t.clone()),await t.json()}catch(t){const o=await s?.match(e);if(o===void 0)throw t;return await o.json()}}async function q(e){const s=await R(),t=await s?.match(`${e}/export.json`);if(s===void 0||t===void 0)return!1;const{files:o}=await t.json();return(await Promise.all(Object.entries(o).map(([i,{sha256:n}])=>s.match(z(e,i,n))))).every(i=>i!==void 0)}const z=(e,s,t)=>`${e}/${s}?${t}`,X=[0,97,115,109,1,0,0,0,1,5,1,96,0,1,123,3,2,1,0,10,10,1,8,0,65,0,253,15,253,98,11];function Y(){if(typeof WebAssembly!="object"||!WebAssembly.validate(Uint8Array.from(X)))throw new Error("this browser has no WebAssembly with SIMD, which the tab computes with; use one of 2023 or later, or the server's canvas page")}class G{constructor(s){this.runs=0,this.onLoad=null,this.onRun=null,Y(),this.worker=s??new Worker(new URL("/assets/worker-BIZZOCVT.js",import.meta.url),{type:"module"}),this.worker.addEventListener("message",({data:t})=>{(t.kind==="event"||t.kind==="failed"&&t.id!==null?this.onRun:this.onLoad)?.(t)}),this.worker.addEventListener("error",({message:t})=>{const o={kind:"failed",message:t||"the tab's worker could not be started"};this.onLoad?.({...o,id:null}),this.onRun?.({...o,id:this.runs})})}send(s){this.worker.postMessage(s)}load(s,t){return new Promise((o,r)=>{this.onLoad=i=>{i.kind==="progress"?t(i.loaded,i.total):i.kind==="failed"?r(new Error(i.message)):i.kind==="ready"&&(tt(i.urls),o(i))},this.send({kind:"load",model:s})})}async*run(s,t,o){const r=++this.runs,i=[];let n=()=>{};this.onRun=d=>{i.push(d),n()},this.send({kind:"run",id:r,prompt:t,seed:o});const u=S(o);let w=[],p=B(""),f=[];for(;;){const d=i.shift();if(d===void 0){await new Promise(O=>n=O);continue}if(d.kind==="failed"&&d.id===r){yield{...u,frames:f,status:"failed",error:d.message};return}if(d.kind!=="event"||d.id!==r)continue;w=[...w,d.event],p=N(p,d.event),f=K(f,p,d.event);const v=d.event.type==="canvas.done",E=v?p.status==="cancelled"?"stopped":"done":"running";if(yield{...u,traces:[V(s,{model:s,prompt:t,seed:o},w)],frames:f,status:E},v)return}}stop(){this.send({kind:"stop"})}close(){this.worker.terminate()}}const Q="sfumato-tab-shell";async function tt(e){if("serviceWorker"in navigator)try{await navigator.serviceWorker.register("/tab-worker.js",{scope:"/"});const s=await caches.open(Q),o=performance.getEntriesByType("resource").map(({name:n})=>new URL(n)).filter(({origin:n,pathname:u})=>n===location.origin&&/^\/(assets\/|icon\.svg|looks\.js)/.test(u)),r=new Set([...o.map(({href:n})=>n),...e,"/tab"].map(n=>new URL(n,location.href).href)),i=new Map((await s.keys()).map(n=>[n.url,n]));if(navigator.onLine){await s.addAll([...r].filter(n=>!i.has(n)||n.endsWith("/tab")));for(const[n,u]of i)r.has(n)||await s.delete(u)}document.documentElement.dataset.offline="ready"}catch{}}var et=Object.defineProperty,st=Object.getOwnPropertyDescriptor,l=(e,s,t,o)=>{for(var r=o>1?void 0:o?st(s,t):s,i=e.length-1,n;i>=0;i--)(n=e[i])&&(r=(o?n(s,t,r):n(r))||r);return o&&r&&et(s,t,r),r};const ot=50,it=1500,x=60,M="/tab/models";let a=class extends j{constructor(){super(...arguments),this.place="",this.offered=[],this.model=$("tab.model",""),this.loaded=null,this.progress=null,this.failure=null,this.instead=[],this.prompt="",this.seed=1,this.colouring=$("tab.colouring","confidence"),this.take=null,this.at=null,this.session=null,this.next=null}connectedCallback(){super.connectedCallback(),this.begin()}disconnectedCallback(){super.disconnectedCallback(),this.next?.close(),this.session?.close()}async begin(){this.failure=null;try{this.offered=await Z(`${M}/index.json`)}catch(t){this.failure={model:null,why:y(t)};return}const e=this.offered.map(({name:t})=>t),s=e.includes(this.model)?this.model:e[0]??"";await this.load(s);for(const t of e){if(this.loaded!==null||this.next!==null)return;t!==s&&await q(`${M}/${t}`)&&await this.load(t)}}async load(e){if(this.next?.close(),[this.next,this.model,this.progress]=[null,e,null],e===this.loaded?.model)return;this.progress={loaded:0,total:0};const s=this.prompt;let t=null;try{this.next=t=new G;const o=await t.load(e,(r,i)=>{t===this.next&&(this.progress={loaded:r,total:i})});if(t!==this.next)return;this.session?.close(),this.prompt===s&&(this.prompt=o.kinds[0]?.example??s),[this.session,this.next,this.loaded]=[t,null,o],this.take=null,k("tab.model",e),m(`${e} is ready.`)}catch(o){if(t!==this.next)return;t?.close(),this.next=null,this.failure??={model:e,why:y(o)},this.model=this.loaded?.model??e}this.progress=null}choose(e){this.failure=null,this.load(e)}get isRunning(){return this.take?.status==="running"}get canRun(){return this.loaded!==null&&this.progress===null&&this.prompt.trim()!==""}async run(){if(this.session===null||this.loaded===null||this.isRunning||!this.canRun)return;this.at=null;let e=S(this.seed);if(this.take=e,this.instead=U({sfumato:this.loaded},this.prompt),this.instead.length>0){const t=this.prompt.length>x?`${this.prompt.slice(0,x)}...`:this.prompt,o=`${this.loaded.model} was not trained on prompts like ${JSON.stringify(t)}.`;this.take={...e,status:"failed",error:o},m(o);return}let s=0;for await(const t of this.session.run(this.loaded.model,this.prompt,this.seed))e=t,!(t.status==="running"&&performance.now()-s<ot)&&([this.take,s]=[t,performance.now()]);e.status==="failed"?L(new Error(e.error??"")):e.status==="stopped"?m("Stopped."):(m(`Seed ${this.seed}: ${F(b(e))}`),this.replay(b(e).elapsedMs??1/0))}replay(e){e>it||_()||this.updateComplete.then(()=>this.renderRoot.querySelector("sf-scrubber")?.play())}render(){return c`<div class="page">
      <h1>Tab</h1>
      <p class="muted intro">
        A model runs in this browser tab. It is downloaded once; after that the page needs neither the server
        nor a network.
      </p>
      ${this.status()} ${this.offered.length===0?g:this.form()}
      ${this.take===null?g:this.result(this.take)}
    </div>`}status(){if(this.progress===null)return this.failure===null?g:this.failed(this.failure);const{loaded:e,total:s}=this.progress,t=s>0&&e>=s,o=r=>(r/1e6).toFixed(1);return c`<label
      >${t?`Preparing ${this.model} …`:`Downloading ${this.model}: ${o(e)} of ${o(s)} MB`}
      <progress max=${s||1} .value=${e}></progress>
    </label>`}failed({model:e,why:s}){const t=()=>this.loaded===null||e===null?void this.begin():this.choose(e),o=e===null?"The list of models":`The model ${e}`,r=this.loaded===null?"":` You can go on with ${this.loaded.model}.`;return c`<div class="card" role="alert">
      <p class="error">${A(`${o} could not be loaded: ${s}`)}${r}</p>
      <button @click=${t}>Try again</button>
    </div>`}form(){const e=this.loaded?.kinds??[],s=t=>{t.preventDefault(),this.run()};return c`<form @submit=${s}>
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
          <select ?disabled=${this.isRunning} @change=${this.onModel}>
            ${this.offered.map(({name:t,bytes:o})=>c`<option value=${t} .selected=${t===this.model}>
                  ${t} (${(o/1e6).toFixed(0)} MB)
                </option>`)}
          </select></label
        >
        <label class="model"
          >Examples
          <select
            @change=${t=>{const o=t.target;this.prompt=e[Number(o.value)]?.example??this.prompt,o.value=""}}
          >
            <option value="">Training tasks</option>
            ${e.map(({name:t},o)=>c`<option value=${o}>${t.replaceAll("_"," ")}</option>`)}
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
        ${I({label:"Denoise",title:"Ctrl+Enter",isRunning:this.isRunning,canStart:this.canRun,stop:()=>this.session?.stop()})}
      </div>
    </form>`}onModel(e){this.choose(e.target.value)}result(e){const{usage:s}=b(e).ending,t=s===void 0?null:1e3*s.total_s/Math.max(1,s.forward_passes);return c`<sf-take
        .take=${e}
        .at=${this.at}
        .colouring=${this.colouring}
        .kinds=${this.instead}
        active
        @sf-example=${({detail:o})=>{this.prompt=o,this.run()}}
      ></sf-take>
      <sf-scrubber
        .frames=${e.frames}
        .at=${this.at??Math.max(0,e.frames.length-1)}
        @sf-at=${({detail:o})=>this.at=o>=e.frames.length-1?null:o}
      ></sf-scrubber>
      <div class="row bar">
        <sf-colouring
          .value=${this.colouring}
          @sf-colouring=${({detail:o})=>{this.colouring=o,k("tab.colouring",o)}}
        ></sf-colouring>
        <span class="figures"
          >${t===null?"":`${t.toFixed(1)} ms a pass · `}${this.loaded?.threads===1?"1 thread":`${this.loaded?.threads??1} threads`}</span
        >
      </div>`}};a.styles=[P,D,T`
      progress {
        width: 100%;
        accent-color: var(--accent);
      }
    `];l([W()],a.prototype,"place",2);l([h()],a.prototype,"offered",2);l([h()],a.prototype,"model",2);l([h()],a.prototype,"loaded",2);l([h()],a.prototype,"progress",2);l([h()],a.prototype,"failure",2);l([h()],a.prototype,"instead",2);l([h()],a.prototype,"prompt",2);l([h()],a.prototype,"seed",2);l([h()],a.prototype,"colouring",2);l([h()],a.prototype,"take",2);l([h()],a.prototype,"at",2);a=l([C("sf-tab-page")],a);export{a as TabPage};
