import{b as $,x as v,d as n,A as y,e as O,i as x,r as w,C as S}from"./index-CMMe71eo.js";import{c as P}from"./repeat-DFZ7HjUn.js";import{T as k,K as E,W as j,a as A,t as T}from"./writing-MmKsNQc3.js";import{r as R,E as W,n as g,A as p,H as _,h as H,s as I,b as N,d as B,w as D,l as U,a as C,c,f as M,R as F,Y as G}from"./encyclopedia-BAz1BOUt.js";import{k as f}from"./prose-Dj4Cixse.js";import"./offsets-EgNy2a1f.js";import"./keys-D98DPntO.js";import"./steps-Bb5mR1ze.js";import"./focus-BpYcMQ1a.js";import"./models-B0BZkP56.js";import"./canvas-DwdqAIXd.js";import"./style-map-Dfcu4NBq.js";import"./canvas-BqwZnn-S.js";import"./answer-CwhH4pm4.js";var K=Object.defineProperty,L=Object.getOwnPropertyDescriptor,m=(e,i,s,r)=>{for(var t=r>1?void 0:r?L(i,s):i,a=e.length-1,h;a>=0;a--)(h=e[a])&&(t=(r?h(i,s,t):h(t))||t);return r&&t&&K(i,s,t),t};const d="/encyclopedia",Y="Open any topic and its page is written, as is every page it links to. Models write them, so check what matters.",o="the whole page";let l=class extends k{constructor(){super(...arguments),this.wish="",this.where=o,this.kept=new E("encyclopedia",R),this.writing=new j(this,"encyclopedia"),this.wording={base:d,title:"Encyclopedia",introduction:Y,verb:"Write",examples:W,allPages:"All pages",lines:"Headings"}}willUpdate(e){super.willUpdate(e),e.has("place")&&(this.where=o)}async openTopic(e,i){const s=this.kept.find(e)??await this.outline(e);i()&&(this.show(s),await this.fill(s))}async outline(e){const i=f(this.writing.cards??[],e);if(i!==void 0)return g(e,[p],i.id);const{lines:s,by:r}=await this.writing.outline(e,_,H(e));return $(`${e}: the headings are written.`),g(e,s,r)}fill(e){const i=e.sections.filter(({text:s})=>s==="");return this.writing.write(i.flatMap(s=>this.jobOf(e,s)))}jobOf({topic:e},i){const s=i.heading===p?f(this.writing.cards??[],e):void 0;if(s===void 0&&this.writing.writer===void 0)return[];const r=s===void 0?I(e,i.heading):e;return[this.job(i,r,s)]}job({id:e,heading:i},s,r){const t=this.page?.topic,a=(h,u)=>this.change(t,b=>c(b,e,h,u));return{id:this.placeOf(e),name:i,prompt:s,card:r,take:a}}placeOf(e){return`${this.page?.topic??""}/${e}`}revise(e){const{page:i}=this;if(i===void 0||e.trim()==="")return;const s=i.sections.filter(({id:r,text:t})=>t!==""&&(this.where===o||this.where===String(r)));if(s.length===0){v("That page is not written yet.");return}this.wish="",this.writing.write(s.map(r=>this.job(r,N(r.text,e))))}removeSection(e,i){const s=e.sections.indexOf(i);this.showWithout(B(e,i.id),{said:`“${i.heading}” is removed.`,bringBack:r=>D(r,i,s),at:s,selector:".remove",otherwise:"h1"})}line(e){return n`<section><h2>${e}</h2></section>`}written(e){const i=U(e),s=this.writing.writer!==void 0,r=C(e);return n`${s?this.revision(e):y}
      <article>
        ${P(e.sections,({id:t})=>t,t=>n`<section aria-label=${t.heading}>
              <h2>${t.heading}</h2>
              <sf-prose
                name=${t.heading}
                base=${d}
                .text=${t.text}
                .by=${t.by}
                .pieces=${t.heading===p?null:i.get(t.id)??null}
                .draft=${this.writing.drafts.get(this.placeOf(t.id))}
                .problem=${this.writing.problems.get(this.placeOf(t.id))??""}
                ?code=${t.heading===p}
                ?able=${this.jobOf(e,t).length>0}
                @sf-again=${()=>void this.writing.write(this.jobOf(e,t))}
                @sf-written=${({detail:a})=>this.show(c(e,t.id,a,a===""?"":G))}
              >
                <button
                  class="quiet remove"
                  aria-label="Remove: ${t.heading}"
                  ?hidden=${e.sections.length<2}
                  @click=${()=>this.removeSection(e,t)}
                >
                  Remove
                </button>
              </sf-prose>
            </section>`)}
      </article>
      ${this.undoButtons()}
      <nav aria-label="Further pages">
        <h2>Further pages</h2>
        <ul class="further">
          ${M(e).map(t=>n`<li><a href=${A(d,t)}>${t}</a></li>`)}
        </ul>
      </nav>
      <p class="figures">
        ${e.outlinedBy===""?"Headings from a fixed list: no model on this server chooses any.":`Headings chosen by ${e.outlinedBy}.`}
        ${r.length===0?"":`Text by ${r.join(", ")}.`} Nobody checked it.
      </p>`}revision(e){return n`<form
        @submit=${i=>{i.preventDefault(),this.revise(this.wish)}}
      >
        <label class="wide"
          >Say what to change
          <input
            autocomplete="off"
            placeholder="for children"
            .value=${this.wish}
            @input=${i=>this.wish=i.target.value}
        /></label>
        <label
          >In
          <select
            aria-label="Where to change it"
            @change=${i=>this.where=i.target.value}
          >
            <option value=${o} .selected=${this.where===o}>${o}</option>
            ${e.sections.map(({id:i,heading:s})=>n`<option value=${i} .selected=${this.where===String(i)}>${s}</option>`)}
          </select></label
        >
        <button class="primary" ?disabled=${this.wish.trim()===""}>Revise</button>
      </form>
      <div class="chips" role="group" aria-label="Revisions">
        ${F.map(i=>n`<button @click=${()=>this.revise(i)}>${i}</button>`)}
      </div>`}};l.styles=[O,T,x`
      h2 {
        margin: 0 0 0.3rem;
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
        animation: form calc(var(--motion) * 300ms) ease-out;
      }
      @keyframes form {
        from {
          opacity: 0;
          filter: blur(3px);
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
    `];m([w()],l.prototype,"wish",2);m([w()],l.prototype,"where",2);l=m([S("sf-encyclopedia-page")],l);export{l as EncyclopediaPage};
