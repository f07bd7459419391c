import{u as y,v as j,e as D,i as P,o as l,r as $,f as A,g as S,A as m,d as a,C as U,p as N,k as R,z as I,x as B,b as O,c as E,n as X}from"./index-CMMe71eo.js";import{c as V}from"./repeat-DFZ7HjUn.js";import{i as Z,b as F}from"./keys-D98DPntO.js";import{n as L,c as G,p as Y,g as J}from"./steps-Bb5mR1ze.js";import{f as M}from"./focus-BpYcMQ1a.js";import{t as Q,M as tt}from"./models-B0BZkP56.js";import"./canvas-DwdqAIXd.js";import{a as et}from"./answer-CwhH4pm4.js";import{t as st}from"./canvas-BqwZnn-S.js";import{p as z,w as _}from"./prose-Dj4Cixse.js";const it=100,rt=80;class Lt{constructor(t,e){this.name=t,this.read=e}topics(){return this.entries().map(({topic:t})=>t)}find(t){const e=this.entries().find(r=>w(r.topic,t));return e===void 0?null:this.read(e.page)}keep(t,e){const r=this.entries().filter(i=>!w(i.topic,t));y(this.name,[{topic:t,page:e},...r].slice(0,it))}forget(t){const e=()=>this.entries().filter(i=>!w(i.topic,t)),r=this.entries().filter(i=>w(i.topic,t));return y(this.name,e()),()=>y(this.name,[...r,...e()])}entries(){const t=j(this.name,[]);return(Array.isArray(t)?t:[]).filter(nt)}}function nt(s){return typeof s=="object"&&s!==null&&typeof s.topic=="string"}function w(s,t){return s.toLowerCase()===t.toLowerCase()}function b(s){return s.replace(/\s+/gu," ").trim().slice(0,rt).trim()}function v(s,t){return`${s}/${encodeURIComponent(t)}`}var ot=Object.defineProperty,at=Object.getOwnPropertyDescriptor,d=(s,t,e,r)=>{for(var i=r>1?void 0:r?at(t,e):t,o=s.length-1,n;o>=0;o--)(n=s[o])&&(i=(r?n(t,e,i):n(i))||i);return r&&i&&ot(t,e,i),i};let h=class extends S{constructor(){super(...arguments),this.name="",this.text="",this.by="",this.pieces=null,this.base="",this.draft=void 0,this.problem="",this.code=!1,this.able=!1,this.isByHand=!1,this.opened=""}open(){[this.isByHand,this.opened]=[!0,this.text],this.updateComplete.then(()=>this.field?.focus())}save(){const s=this.field?.value.trim()??"";this.close(),s!==this.text&&this.dispatchEvent(new CustomEvent("sf-written",{detail:s}))}close(){this.isByHand=!1,this.updateComplete.then(()=>this.renderRoot.querySelector(".hand")?.focus())}onKey(s){if(s.key==="Escape")this.close();else if(s.key==="Enter"&&(s.ctrlKey||s.metaKey))this.save();else return;s.preventDefault()}render(){return this.isByHand?this.form():this.draft!==void 0?this.forming(this.draft):a`${this.text===""?this.missing():a`<p class="text">${this.linked()}</p>`}
      <div class="row tools">
        <span class="by">${this.by===""?m:`Written by ${this.by}`}</span>
        ${this.able?a`<button
                class="quiet"
                aria-label="${this.text===""?"Write":"Write again"}: ${this.name}"
                @click=${()=>this.dispatchEvent(new CustomEvent("sf-again"))}
              >
                ${this.text===""?"Write":"Write again"}
              </button>`:m}
        <button
          class="quiet hand"
          aria-label="${this.text===""?"Write it yourself":"Edit"}: ${this.name}"
          @click=${()=>this.open()}
        >
          ${this.text===""?"Write it yourself":"Edit"}
        </button>
        <slot></slot>
      </div>`}missing(){return this.problem!==""?a`<p class="error">It was not written: ${this.problem}</p>`:this.able?a`<p class="waiting">Not written yet.</p>`:m}forming(s){return s===null||s.tokens.length===0?a`<p class="waiting" aria-busy="true">${this.text===""?"Writing …":this.text}</p>`:a`<sf-canvas
      aria-busy="true"
      label="${this.name}, being written"
      .tokens=${s.tokens}
      .clock=${s.clock}
    ></sf-canvas>`}form(){return a`<textarea
        rows="5"
        aria-label=${this.name}
        .value=${this.opened}
        @keydown=${s=>this.onKey(s)}
      ></textarea>
      <div class="row tools">
        <button class="primary" title="Ctrl+Enter" @click=${()=>this.save()}>Save</button>
        <button title="Escape" @click=${()=>this.close()}>Cancel</button>
      </div>`}linked(){return(this.pieces??[{text:this.text}]).map(({text:t,topic:e})=>e===void 0?t:a`<a href=${v(this.base,e)}>${t}</a>`)}};h.styles=[D,P`
      p {
        margin: 0;
        overflow-wrap: anywhere;
      }
      .text {
        white-space: pre-wrap;
      }
      :host([code]) .text {
        font-family: var(--mono);
        font-size: 0.9rem;
      }
      sf-canvas::part(text) {
        font: inherit;
        line-height: inherit;
      }
      textarea {
        width: 100%;
        resize: vertical;
      }
      .tools {
        margin-top: 0.3rem;
        font-size: 0.8rem;
        gap: 0.25rem;
      }
      .tools button {
        padding: 0.1rem 0.5rem;
      }
      .by {
        color: var(--muted);
        margin-right: auto;
      }
      .waiting {
        color: var(--muted);
      }
    `];d([l()],h.prototype,"name",2);d([l()],h.prototype,"text",2);d([l()],h.prototype,"by",2);d([l({attribute:!1})],h.prototype,"pieces",2);d([l()],h.prototype,"base",2);d([l({attribute:!1})],h.prototype,"draft",2);d([l()],h.prototype,"problem",2);d([l({type:Boolean,reflect:!0})],h.prototype,"code",2);d([l({type:Boolean})],h.prototype,"able",2);d([$()],h.prototype,"isByHand",2);d([A("textarea")],h.prototype,"field",2);h=d([U("sf-prose")],h);var lt=Object.defineProperty,ht=Object.getOwnPropertyDescriptor,f=(s,t,e,r)=>{for(var i=r>1?void 0:r?ht(t,e):t,o=s.length-1,n;o>=0;o--)(n=s[o])&&(i=(r?n(t,e,i):n(i))||i);return r&&i&&lt(t,e,i),i};let u=class extends S{constructor(){super(...arguments),this.base="",this.label="Topic",this.verb="Open",this.examples=[],this.kept=[],this.small=!1,this.topic="",this.onKey=s=>{Z(s)&&(s.preventDefault(),this.field.focus())}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}ask(s){s.preventDefault();const t=b(this.topic);t!==""&&(this.topic="",N(v(this.base,t)))}render(){const s=a`<form @submit=${t=>this.ask(t)}>
      <label
        >${this.label}
        <input
          autocomplete="off"
          maxlength="80"
          placeholder=${this.examples[0]??""}
          .value=${this.topic}
          @input=${t=>this.topic=t.target.value}
      /></label>
      <button class="primary" ?disabled=${this.topic.trim()===""}>${this.verb}</button>
    </form>`;return this.small?s:a`${s}
      <div class="chips" role="group" aria-label="Examples">
        ${this.examples.map(t=>a`<a href=${v(this.base,t)}>${t}</a>`)}
      </div>
      ${this.kept.length===0?m:a`<h2>Kept on this device</h2>
              <ul>
                ${this.kept.map(t=>a`<li>
                      <a href=${v(this.base,t)}>${t}</a>
                      <button
                        class="quiet"
                        aria-label="Delete ${t}"
                        @click=${()=>this.dispatchEvent(new CustomEvent("sf-forget",{detail:t}))}
                      >
                        ×
                      </button>
                    </li>`)}
              </ul>`}`}};u.styles=[D,P`
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 12rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        margin-block: 0.9rem 1.5rem;
      }
      .chips a {
        border: 1px solid var(--line);
        border-radius: 999px;
        background: var(--surface-2);
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
        color: inherit;
        text-decoration: none;
      }
      .chips a:hover {
        border-color: var(--accent);
      }
      ul {
        list-style: none;
        padding: 0;
        margin: 0;
        columns: 16rem auto;
      }
      li {
        display: flex;
        gap: 0.25rem;
        align-items: baseline;
        break-inside: avoid;
      }
      li a {
        overflow-wrap: anywhere;
      }
      li button {
        padding: 0 0.5rem;
      }
    `];f([l()],u.prototype,"base",2);f([l()],u.prototype,"label",2);f([l()],u.prototype,"verb",2);f([l({attribute:!1})],u.prototype,"examples",2);f([l({attribute:!1})],u.prototype,"kept",2);f([l({type:Boolean})],u.prototype,"small",2);f([$()],u.prototype,"topic",2);f([A("input")],u.prototype,"field",2);u=f([U("sf-topics")],u);var pt=Object.defineProperty,x=(s,t,e,r)=>{for(var i=void 0,o=s.length-1,n;o>=0;o--)(n=s[o])&&(i=n(t,e,i)||i);return i&&pt(t,e,i),i};const Mt=P`
  .page {
    display: grid;
    gap: 1rem;
    grid-template-columns: minmax(0, 1fr);
    max-width: 48rem;
    margin-inline: auto;
  }
  h1 {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h1[tabindex]:focus-visible {
    outline: none;
  }
  p {
    margin: 0;
  }
  .notice {
    font-size: 0.9rem;
  }
  .row {
    align-items: end;
  }
  .bar {
    justify-content: space-between;
    align-items: center;
    /* Room for Stop, which comes and goes. */
    min-height: 2.425rem;
  }
  .forming {
    display: grid;
    gap: 0.9rem;
  }
`;class k extends S{constructor(){super(...arguments),this.place="",this.steps=L(),this.problem="",this.onKey=t=>{const e=F(t);e===0||this.page===void 0||(t.preventDefault(),this.move(e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.nameDocument()}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}willUpdate(t){t.has("place")&&(this.writing.stop(),this.steps=L(),this.nameDocument(),this.open(b(this.place)),this.hasUpdated&&this.updateComplete.then(()=>this.mainHeading.focus()))}nameDocument(){const t=b(this.place);t!==""&&(document.title=`${t} · ${this.wording.title} · Sfumato`)}get page(){return G(this.steps)}async open(t){const e=()=>t===b(this.place);this.problem="";try{await this.writing.models.load(),t!==""&&e()&&await this.openTopic(t,e)}catch(r){e()&&(this.problem=R(r)?"Stopped before anything was written.":I(r))}}show(t){this.steps=Y(this.steps,t),this.kept.keep(t.topic,t)}change(t,e){this.page!==void 0&&this.page.topic===t&&this.show(e(this.page))}showWithout(t,{said:e,bringBack:r,at:i,selector:o,otherwise:n},p=this.renderRoot){this.show(t),B(e,{label:"Undo",run:()=>this.change(t.topic,r)}),this.updateComplete.then(()=>{M(p,o,i)||M(p,n,0)})}move(t){const e=this.steps.at;this.steps=J(this.steps,t),!(this.page===void 0||this.steps.at===e)&&(this.kept.keep(this.page.topic,this.page),O(t<0?"Undone.":"Redone."))}forget(t){const e=this.kept.forget(t);this.requestUpdate();const r=()=>{e(),this.requestUpdate()};B(`“${t}” is deleted.`,{label:"Undo",run:r})}render(){const t=b(this.place);return a`<div class="page">${t===""?this.home():this.topicPage(t)}</div>`}home(){const{base:t,title:e,introduction:r,verb:i,examples:o}=this.wording;return a`<h1 tabindex="-1">${e}</h1>
      <p class="muted">${r}</p>
      <sf-topics
        base=${t}
        label="Topic"
        verb=${i}
        .examples=${o}
        .kept=${this.kept.topics()}
        @sf-forget=${({detail:n})=>this.forget(n)}
      ></sf-topics>
      ${this.writing.models.failure()} ${this.writing.notice()}`}topicPage(t){const{base:e,verb:r,allPages:i,lines:o}=this.wording;return a`<sf-topics small base=${e} label="Another topic" verb=${r}></sf-topics>
      <div class="row bar">
        <a href=${e}>${i}</a>
        <span class="row">${this.writing.controls(`${o} by`)}</span>
      </div>
      <h1 tabindex="-1">${t}</h1>
      ${this.writing.notice()} ${this.page===void 0?this.forming(t):this.written(this.page)}`}forming(t){return this.problem!==""?Q(this.problem,()=>void this.open(t)):a`<div class="forming" aria-busy="true">
      ${V(this.writing.outlining??[],e=>e,e=>this.line(e))}
      <p class="muted">Choosing ${this.wording.lines.toLowerCase()} …</p>
    </div>`}undoButtons(){const{at:t,all:e}=this.steps;return a`<span>
      <button ?disabled=${t<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
      <button ?disabled=${t>=e.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
        Redo
      </button>
    </span>`}}x([l()],k.prototype,"place");x([$()],k.prototype,"steps");x([$()],k.prototype,"problem");x([A("h1")],k.prototype,"mainHeading");const ct=2,dt=96,ut=32,ft=6;function W(s,t){return[...s.filter(({sfumato:r})=>r.tasks.includes("ui_screen")).map(r=>({card:r,isWriter:!1})),...t.map(r=>({card:r,isWriter:!0}))]}function mt(s){return{lines:s.map(([t=""])=>t),by:"",canvas:null}}async function bt(s,t,e,r,i){const{seed:o,signal:n,onLines:p}=i,c=`screen: a list about ${wt(e)} with ${r.length} items`,C={model:t,prompt:c,regex:yt(r),steps:ct,canvas_length:dt,seed:o};let K=null;const H=async function*(){for await(const g of s.stream(C,n))K=g.canvas_id,yield g},{text:q}=await et(H(),g=>p(T(st(g),r)));return{lines:T(q,r),by:t,canvas:K}}async function gt(s,t,e,r){const i=$t(await z(s,t,e,{...r,onView:()=>{}}));if(i.length<2)throw new Error(`${t.id} wrote no list; choose another model for the headings`);return{lines:i,by:t.id,canvas:null}}function wt(s){return s.replaceAll("|","/").replace(/\s+/gu," ").trim().slice(0,ut).trim()}function yt(s){return["page"," list",...s.map(t=>`  item: (?:${t.map(vt).join("|")})`)].join(`
`)}function vt(s){return s.replace(/[\\^$.|?*+()[\]{}]/g,"\\$&")}function T(s,t){const e=s.split(`
`).map(r=>r.replace(/^ *item: /,""));return t.flatMap(r=>r.find(i=>e.includes(i))??[])}function $t(s){const t=s.split(`
`).map(e=>e.replace(/^\s*(?:[-*•#]+|\(?\d+[.):]?)\s*/u,"").replaceAll(/[*_"“”`]/g,"").replace(/[\s:.]+$/u,"").trim());return[...new Set(t.filter(e=>e!==""&&e.length<=60))].slice(0,ft)}const xt=3;class Wt{constructor(t,e){this.host=t,this.name=e,this.drafts=new Map,this.problems=new Map,this.outlining=null,this.stopping=new AbortController,this.asked=0,this.models=new tt(t),this.chosen={writer:"",outliner:"",...j(`${e}.models`,{})}}get cards(){return this.models.cards}get writer(){const t=_(this.cards??[]);return t.find(({id:e})=>e===this.chosen.writer)??t[0]}get outliner(){const t=W(this.cards??[],_(this.cards??[]));return t.find(({card:e})=>e.id===this.chosen.outliner)??t[0]}get isBusy(){return this.outlining!==null||this.drafts.size>0}get isStopped(){return this.stopping.signal.aborted}stop(){this.stopping.abort()}signal(){return this.stopping.signal.aborted&&(this.stopping=new AbortController),this.stopping.signal}async outline(t,e,r){const{outliner:i}=this;if(i===void 0)return mt(e);const o={seed:this.asked++,signal:this.signal()};this.show({outlining:[]});try{return i.isWriter?await gt(E,i.card,r,o):await bt(E,i.card.id,t,e,{...o,onLines:n=>this.show({outlining:n})})}finally{this.show({outlining:null})}}async write(t){const e=this.signal(),r=t.filter(({id:n})=>!this.drafts.has(n)),i=new Map(this.problems);for(const{id:n}of r)i.delete(n);this.show({drafts:new Map([...this.drafts,...r.map(({id:n})=>[n,null])]),problems:i});const o=async()=>{for(let n=r.shift();n!==void 0;n=r.shift())await this.do(n,e)};await Promise.all(Array.from({length:xt},o))}async do({id:t,name:e,prompt:r,card:i=this.writer,take:o},n){try{if(n.aborted||i===void 0)return;const p=C=>this.show({drafts:new Map([...this.drafts,[t,C]])}),c=await z(E,i,r,{seed:this.asked++,signal:n,onView:p});o(c,i.id),O(`${e}: written.`)}catch(p){if(n.aborted)return;const c=X(p);this.show({problems:new Map([...this.problems,[t,c]])}),O(`${e}: not written. ${c}`)}finally{this.show({drafts:new Map([...this.drafts].filter(([p])=>p!==t))})}}show(t){Object.assign(this,t),this.host.requestUpdate()}choose(t){this.chosen={...this.chosen,...t},y(`${this.name}.models`,this.chosen),this.host.requestUpdate()}controls(t){if(this.cards===null)return m;const e=_(this.cards),r=(i,o,n,p)=>n.length<2?m:a`<label
            >${i}
            <select
              ?disabled=${this.isBusy}
              @change=${c=>p(c.target.value)}
            >
              ${n.map(c=>a`<option .selected=${c===o}>${c}</option>`)}
            </select></label
          >`;return a`${r(t,this.outliner?.card.id??"",W(this.cards,e).map(({card:i})=>i.id),i=>this.choose({outliner:i}))}
    ${r("Text by",this.writer?.id??"",e.map(({id:i})=>i),i=>this.choose({writer:i}))}
    ${this.isBusy?a`<span class="figures">${this.drafts.size===0?"":`${this.drafts.size} to write`}</span>
            <button @click=${()=>this.stop()}>Stop</button>`:m}`}notice(){if(this.cards===null||this.writer!==void 0)return m;const t=this.cards.map(({id:e})=>e).join(", ");return a`<p class="notice card">
      None of this server's models can write prose (${t}). You can write everything yourself, or restart
      the server with a language model: <code>sfumato serve ui smollm2-135m-instruct</code>
    </p>`}}export{Lt as K,k as T,Wt as W,v as a,Mt as t};
