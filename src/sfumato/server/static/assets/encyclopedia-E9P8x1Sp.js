import{g as O,h as S,b as w,s as g,d as o,A,e as W,i as C,n as E,r as f,f as P,t as j}from"./index-BtolXjW9.js";import{c as b}from"./repeat-wmaXMVvS.js";import{b as L,s as $,l as T,K as H,W as U,t as u,k as y,a as I}from"./writing-DYC50BDf.js";import{a as z}from"./files-CTAAkA73.js";import{u as D}from"./keys-DoTgPSuZ.js";import{n as v,c as K,p as R,g as _}from"./steps-mb0g5HZU.js";import"./offsets-EgNy2a1f.js";import"./canvas-CWvv-g_X.js";import"./canvas-BqwZnn-S.js";import"./answer-DGxee2HY.js";const B="you",d="Answer",M=[["In short","What it is","In a few words"],["Origins","History","Beginnings","Where it comes from"],["How it works","Kinds","Parts","What it is made of"],["Examples","Places","Uses","Who deals with it"],["Today","Dangers","Open questions","What to remember"]],q=["Volcanoes","The piano","Moving house","Honey bees","fizzbuzz in python"],N=["Shorter","For children","In other words"];function F(e,t,i){return{topic:e,outlinedBy:i,sections:t.map((r,s)=>({id:s,heading:r,text:"",by:""}))}}function G(e){const{topic:t,outlinedBy:i,sections:r}=e??{};return typeof t!="string"||typeof i!="string"||!Array.isArray(r)?null:r.length>0&&r.every(V)?{topic:t,outlinedBy:i,sections:r}:null}function V(e){const{id:t,heading:i,text:r,by:s}=e??{};return typeof t=="number"&&[i,r,s].every(n=>typeof n=="string")}function k(e,t,i,r){return{...e,sections:e.sections.map(s=>s.id===t?{...s,text:i,by:r}:s)}}function Z(e,t){return{...e,sections:e.sections.filter(i=>i.id!==t)}}function X({sections:e}){return[...new Set(e.map(({by:t})=>t).filter(t=>t!==""))]}function Y(e,t){return`Tell me about ${e}: ${t.toLowerCase()}. Answer in two or three sentences.`}function J(e){return`List four section headings for an encyclopedia article about ${e}, one on each line, nothing else.`}function Q(e,t){const i={shorter:"Shorten this text to one sentence","for children":"Explain this to a child, in simple words","in other words":"Write this text again in other words"},r=t.trim().replace(/[.:]+$/,"");return`${i[r.toLowerCase()]??`Write this text again. ${L(r)}`}: ${e}`}function ee({topic:e,sections:t}){const i=new Set([e,...e.split(/[^\p{L}\d]+/u)].map($));return new Map(t.map(({id:r,text:s})=>{const n=T(s,i);for(const h of n)h.topic!==void 0&&i.add($(h.topic));return[r,n]}))}function te({topic:e,sections:t}){const[i="",r]=e.split(/: (.+)$/su),s=t.filter(({heading:n})=>n!==d).map(({heading:n})=>`${i}: ${n.toLowerCase()}`).filter(n=>n.toLowerCase()!==e.toLowerCase());return[...new Set([...r===void 0?[]:[i],...s])]}var ie=Object.defineProperty,se=Object.getOwnPropertyDescriptor,l=(e,t,i,r)=>{for(var s=r>1?void 0:r?se(t,i):t,n=e.length-1,h;n>=0;n--)(h=e[n])&&(s=(r?h(t,i,s):h(s))||s);return r&&s&&ie(t,i,s),s};const c="/encyclopedia",p="the whole page";let a=class extends O{constructor(){super(...arguments),this.place="",this.steps=v(),this.wish="",this.where=p,this.problem="",this.kept=new H("encyclopedia",G),this.writing=new U(this,"encyclopedia"),this.ready=null,this.onKey=e=>{const t=D(e);t===0||this.article===void 0||(e.preventDefault(),this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}willUpdate(e){e.has("place")&&(this.writing.stop(),this.steps=v(),this.problem="",this.where=p,this.open(u(this.place)),this.hasUpdated&&this.updateComplete.then(()=>this.mainHeading.focus()))}get article(){return K(this.steps)}async open(e){const t=()=>e===u(this.place);this.problem="";try{if(await(this.ready??=this.writing.begin()),e===""||!t())return;const i=this.kept.find(e)??await this.outline(e);if(!t())return;this.show(i),await this.fill(i)}catch(i){this.ready=null,t()&&(this.problem=S(i)?"It was stopped.":z(i))}}async outline(e){const{lines:t,by:i}=await this.writing.outline(e,M,J(e)),r=y(this.writing.cards??[],e)!==void 0;return w(`${e}: the headings are there.`),F(e,r?[d,...t]:t,i)}fill(e){const t=e.sections.filter(({text:i})=>i==="");return this.writing.write(t.flatMap(i=>this.jobOf(e,i)))}jobOf({topic:e},t){const i=t.heading===d?y(this.writing.cards??[],e):void 0;if(i===void 0&&this.writing.writer===void 0)return[];const r=i===void 0?Y(e,t.heading):e;return[this.job(t,r,i)]}job({id:e,heading:t},i,r){const s=this.article?.topic,n=(h,x)=>{const{article:m}=this;m!==void 0&&m.topic===s&&this.show(k(m,e,h,x))};return{id:this.placeOf(e),name:t,prompt:i,card:r,take:n}}placeOf(e){return`${this.article?.topic??""}/${e}`}show(e){this.steps=R(this.steps,e),this.kept.keep(e.topic,e)}move(e){const t=this.steps.at;this.steps=_(this.steps,e),!(this.article===void 0||this.steps.at===t)&&(this.kept.keep(this.article.topic,this.article),w(e<0?"Undone.":"Done again."))}revise(e){const{article:t}=this;if(t===void 0||e.trim()==="")return;const i=t.sections.filter(({id:r,text:s})=>s!==""&&(this.where===p||this.where===String(r)));if(i.length===0){g("That page is not written yet.");return}this.wish="",this.writing.write(i.map(r=>this.job(r,Q(r.text,e))))}removeSection(e,{id:t,heading:i}){this.show(Z(e,t)),g(`“${i}” is removed; Undo brings it back.`)}forget(e){const t=this.kept.forget(e);this.requestUpdate(),g(`“${e}” is deleted.`,{label:"Undo",run:()=>{t(),this.requestUpdate()}})}render(){const e=u(this.place);return o`<div class="page">${e===""?this.home():this.topicPage(e)}</div>`}home(){return o`<h1 tabindex="-1">Encyclopedia</h1>
      <p class="muted">
        A page on any topic is written when you open it, and so is each page that it links to. Models wrote
        them: check what matters.
      </p>
      <sf-topics
        base=${c}
        label="Topic"
        verb="Write"
        .examples=${q}
        .kept=${this.kept.topics()}
        @sf-forget=${({detail:e})=>this.forget(e)}
      ></sf-topics>
      ${this.writing.notice()}`}topicPage(e){const{article:t,writing:i}=this;return o`<sf-topics small base=${c} label="Another topic" verb="Write"></sf-topics>
      <div class="row bar">
        <a href=${c}>All pages</a>
        <span class="row">${i.controls("Headings by")}</span>
      </div>
      <h1 tabindex="-1">${e}</h1>
      ${i.notice()} ${t===void 0?this.forming():this.written(t)}`}forming(){return this.problem!==""?o`<p class="error">${this.problem}</p>
        <div>
          <button class="primary" @click=${()=>void this.open(u(this.place))}>Try again</button>
        </div>`:o`<article class="forming" aria-busy="true">
      ${b(this.writing.outlining??[],e=>e,e=>o`<section><h2>${e}</h2></section>`)}
      <p class="muted">Choosing headings …</p>
    </article>`}written(e){const t=ee(e),i=this.writing.writer!==void 0,r=X(e);return o`${i?this.revision(e):A}
      <article>
        ${b(e.sections,({id:s})=>s,s=>o`<section aria-label=${s.heading}>
              <h2>${s.heading}</h2>
              <sf-prose
                name=${s.heading}
                base=${c}
                .text=${s.text}
                .by=${s.by}
                .pieces=${s.heading===d?null:t.get(s.id)??null}
                .draft=${this.writing.drafts.get(this.placeOf(s.id))}
                .problem=${this.writing.problems.get(this.placeOf(s.id))??""}
                ?code=${s.heading===d}
                ?able=${this.jobOf(e,s).length>0}
                @sf-again=${()=>void this.writing.write(this.jobOf(e,s))}
                @sf-written=${({detail:n})=>this.show(k(e,s.id,n,n===""?"":B))}
              >
                <button
                  class="quiet"
                  aria-label="Remove: ${s.heading}"
                  ?hidden=${e.sections.length<2}
                  @click=${()=>this.removeSection(e,s)}
                >
                  Remove
                </button>
              </sf-prose>
            </section>`)}
      </article>
      <div class="row">
        <button ?disabled=${this.steps.at<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
        <button
          ?disabled=${this.steps.at>=this.steps.all.length-1}
          title="Ctrl+Shift+Z"
          @click=${()=>this.move(1)}
        >
          Redo
        </button>
      </div>
      <nav aria-label="Further pages">
        <h2>Further pages</h2>
        <ul class="further">
          ${te(e).map(s=>o`<li><a href=${I(c,s)}>${s}</a></li>`)}
        </ul>
      </nav>
      <p class="figures">
        ${e.outlinedBy===""?"The headings are the encyclopedia's own: no model of the server chooses any.":`Headings chosen by ${e.outlinedBy}.`}
        ${r.length===0?"":`Text by ${r.join(", ")}.`} Nobody checked it.
      </p>`}revision(e){return o`<form
        @submit=${t=>{t.preventDefault(),this.revise(this.wish)}}
      >
        <label class="wide"
          >Say what to change
          <input
            autocomplete="off"
            placeholder="for children"
            .value=${this.wish}
            @input=${t=>this.wish=t.target.value}
        /></label>
        <label
          >In
          <select
            aria-label="Where to change it"
            @change=${t=>this.where=t.target.value}
          >
            <option value=${p} ?selected=${this.where===p}>${p}</option>
            ${e.sections.map(({id:t,heading:i})=>o`<option value=${t} ?selected=${this.where===String(t)}>${i}</option>`)}
          </select></label
        >
        <button class="primary" ?disabled=${this.wish.trim()===""}>Revise</button>
      </form>
      <div class="chips" role="group" aria-label="Revisions">
        ${N.map(t=>o`<button @click=${()=>this.revise(t)}>${t}</button>`)}
      </div>`}};a.styles=[W,C`
      .page {
        display: grid;
        gap: 1rem;
        grid-template-columns: minmax(0, 1fr);
        max-width: 46rem;
        margin-inline: auto;
      }
      h1 {
        font-size: 1.9rem;
        margin: 0;
        overflow-wrap: anywhere;
      }
      h1[tabindex]:focus-visible {
        outline: none;
      }
      h2 {
        margin: 0 0 0.3rem;
      }
      p {
        margin: 0;
      }
      .notice {
        font-size: 0.9rem;
      }
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 9rem;
      }
      .wide {
        flex-basis: 14rem;
      }
      .chips {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .chips button {
        border-radius: 999px;
        padding: 0.2rem 0.8rem;
        font-size: 0.875rem;
      }
      article {
        display: grid;
        gap: 1.1rem;
      }
      section {
        line-height: 1.6;
        min-height: 5.2rem;
      }
      .forming h2 {
        animation: form 300ms ease-out;
      }
      @keyframes form {
        from {
          opacity: 0;
          filter: blur(3px);
        }
      }
      @media (prefers-reduced-motion: reduce) {
        .forming h2 {
          animation: none;
        }
      }
      .further {
        display: flex;
        flex-wrap: wrap;
        gap: 0.2rem 1rem;
        list-style: none;
        padding: 0;
        margin: 0;
      }
      .row {
        align-items: end;
      }
      .bar {
        justify-content: space-between;
      }
    `];l([E()],a.prototype,"place",2);l([f()],a.prototype,"steps",2);l([f()],a.prototype,"wish",2);l([f()],a.prototype,"where",2);l([f()],a.prototype,"problem",2);l([P("h1")],a.prototype,"mainHeading",2);a=l([j("sf-encyclopedia-page")],a);export{a as EncyclopediaPage};
