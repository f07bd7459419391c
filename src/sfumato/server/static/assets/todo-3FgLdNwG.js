import{e as C,i as T,n as E,r as l,g as D,u as m,c as g,d,w as S,s as O,b as v,t as c,q as W,A as y,f as j}from"./index-B3E5B1W5.js";import{u as M,i as N,a as U}from"./keys-Bvww4gEl.js";import{g as _,p as K,c as h,n as P}from"./steps-mb0g5HZU.js";import{a as R,t as f,b as H,o as L,U as q,N as F,P as z,e as G,w as I,p as X}from"./screen-DSTrYKUr.js";import"./answer-UQjbIVjM.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-Cb18_Fsc.js";import"./live-DZVJQnX6.js";import"./repeat-CMpXvs-E.js";var Z=Object.defineProperty,B=Object.getOwnPropertyDescriptor,b=(e,t,i,r)=>{for(var s=r>1?void 0:r?B(t,i):t,o=e.length-1,n;o>=0;o--)(n=e[o])&&(s=(r?n(t,i,s):n(s))||s);return r&&s&&Z(t,i,s),s};let u=class extends D{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const e=++this.presses;try{const t=await navigator.mediaDevices.getUserMedia({audio:!0});if(e!==this.presses||this.mode!=="recording"||!this.isConnected){for(const r of t.getTracks())r.stop();return}const i=[];this.recorder=new MediaRecorder(t),this.recorder.addEventListener("dataavailable",({data:r})=>i.push(r)),this.recorder.addEventListener("stop",()=>{for(const r of t.getTracks())r.stop();this.read(new Blob(i,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",m(new Error("No microphone: allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(e){this.mode="reading";const t=new FormData;t.append("file",e,"command.webm"),t.append("model","whisper-1"),t.append("language","en"),this.hint!==""&&t.append("prompt",this.hint);try{const{text:i}=await g.json("POST","/v1/audio/transcriptions",t);this.dispatchEvent(new CustomEvent("sf-heard",{detail:i.trim(),bubbles:!0,composed:!0}))}catch(i){m(i)}finally{this.mode="idle"}}render(){const e={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return d`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @blur=${()=>this.end()}
      @keydown=${t=>t.key===" "&&!t.repeat&&void this.begin()}
      @keyup=${t=>t.key===" "&&this.end()}
    >
      ${e}
    </button>`}};u.styles=[C,T`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];b([E()],u.prototype,"hint",2);b([l()],u.prototype,"mode",2);u=b([S("sf-talk")],u);var J=Object.defineProperty,Q=Object.getOwnPropertyDescriptor,p=(e,t,i,r)=>{for(var s=r>1?void 0:r?Q(t,i):t,o=e.length-1,n;o>=0;o--)(n=e[o])&&(s=(r?n(t,i,s):n(s))||s);return r&&s&&J(t,i,s),s};const A="a to-do list with ten items about moving house, four done",w=[A,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],$=["sort by name","dark mode","show only the open ones","delete the second","tick off the first one"],k="todo.steps",x=20,V=600;function Y(e){try{const{all:t,at:i}=e,r=t.map(({page:s,said:o,ms:n})=>({page:X(s),said:o,ms:n}));return _({all:r,at:i},0)}catch{return P()}}let a=class extends D{constructor(){super(...arguments),this.place="",this.cards=null,this.model="",this.steps=Y(O(k,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.stopping=new AbortController,this.asked=0,this.onKey=e=>{const t=M(e);t===0&&!N(e)||(e.preventDefault(),t===0?this.input?.focus():this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),this.begin().catch(m)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),this.stopping.abort()}async begin(){this.cards=R(await g.models()),this.model=this.cards[0]?.id??""}move(e){const t=this.steps.at;this.steps=_(this.steps,e),this.steps.at!==t?(this.keep(),v(e<0?"Undone.":"Done again.")):e!==0&&c(`There is nothing to ${e<0?"undo":"redo"}.`)}keep(){const{all:e,at:t}=this.steps,i=Math.max(0,Math.min(t,e.length-x)),r=e.slice(i,i+x).map(s=>({...s,page:f(s.page)}));W(k,{all:r,at:t-i})}show(e,t,i){this.steps=K(this.steps,{page:e,said:t,ms:i}),this.keep()}async command(e){const t=e.trim();if(t===""||this.isWriting||this.model==="")return;const i=U(t);if(i!==0&&h(this.steps)!==void 0){this.sentence="",this.move(i);return}this.isWriting=!0,this.stopping=new AbortController;const r=h(this.steps)?.page??null;try{const s=await H(g,this.model,t,{page:r,seed:this.asked++,signal:this.stopping.signal,onDraft:n=>this.draft=n});this.sentence="";const o=L(h(this.steps)?.page??null,r,s);r!==null&&f(s.page)===f(r)?c(q):(this.show(o,t,s.ms),v("Changed."))}catch(s){s instanceof F||s instanceof z?c(s.message):this.stopping.signal.aborted||m(s)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:e}){const t=h(this.steps)?.page;if(t!==void 0&&(e.say!==void 0&&c(e.say),e.ask!==void 0&&this.command(e.ask),!(e.program===void 0||e.program==="")))try{this.show(G(t,e.program),e.program.split(`
`).join("; "),0)}catch(i){m(i)}}hint(e){const t=e===void 0?[]:[...I(e.page)].flatMap(({text:r,cells:s})=>[r,...s]);return[...e===void 0?w:$,...t.filter(r=>r!=="")].join(". ").slice(0,V)}startAgain(){this.stopping.abort();const e=this.steps;this.steps=P(),this.keep(),c("The screen is gone.",{label:"Undo",run:()=>{this.steps=e,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return d`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model on this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const e=h(this.steps);return d`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${t=>{t.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${e===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${e===void 0?A:"sort by name"}
            .value=${this.sentence}
            @input=${t=>this.sentence=t.target.value}
        /></label>
        ${this.isWriting?d`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:d`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(e)}
          @sf-heard=${({detail:t})=>{this.sentence=t,this.command(t)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${(e===void 0?w:$).map(t=>d`<button ?disabled=${this.isWriting} @click=${()=>this.command(t)}>${t}</button>`)}
      </div>
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${e===void 0&&this.draft===null?d`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:d`<sf-screen
                .page=${this.draft??e?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${t=>this.onEffect(t)}
              ></sf-screen>`}
      </div>
      ${e===void 0?y:this.history(e)}
    </div>`}history(e){const{all:t,at:i}=this.steps;return d`<div class="row bar">
        <span class="row">
          <button ?disabled=${i<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
          <button ?disabled=${i>=t.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${()=>this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${e.ms===null?"":`${Math.round(e.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${t.map(({said:r},s)=>d`<li>
                <button
                  class="quiet"
                  aria-current=${s===i?"step":y}
                  @click=${()=>this.move(s-i)}
                >
                  ${r}
                </button>
              </li>`)}
        </ol>
      </details>`}};a.styles=[C,T`
      .page {
        display: grid;
        gap: 0.9rem;
        grid-template-columns: minmax(0, 1fr);
        max-width: 52rem;
        margin-inline: auto;
      }
      form {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
        align-items: end;
      }
      form label {
        flex: 1 1 16rem;
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
      .screen {
        display: grid;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        min-height: 12rem;
        background: var(--surface);
      }
      .empty {
        display: grid;
        place-items: center;
        min-height: 12rem;
        padding: 1rem;
        text-align: center;
      }
      .bar {
        justify-content: space-between;
      }
      ol {
        margin: 0;
        padding-left: 1.4rem;
        font-size: 0.875rem;
      }
      ol button {
        padding: 0.1rem 0.4rem;
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `];p([E()],a.prototype,"place",2);p([l()],a.prototype,"cards",2);p([l()],a.prototype,"model",2);p([l()],a.prototype,"steps",2);p([l()],a.prototype,"draft",2);p([l()],a.prototype,"isWriting",2);p([l()],a.prototype,"sentence",2);p([j("#command")],a.prototype,"input",2);a=p([S("sf-todo-page")],a);export{a as TodoPage};
