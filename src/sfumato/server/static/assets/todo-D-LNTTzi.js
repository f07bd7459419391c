import{e as O,i as D,p as _,s as u,g as A,x as v,c as P,d as h,z as M,v as N,m as j,b,w as p,u as K,A as y,f as R}from"./index-02VlwGGE.js";import{M as H}from"./models-DkLnH7Tq.js";import{u as z,i as F,a as I}from"./keys-Bvww4gEl.js";import{g as U,p as q,c as m,n as W}from"./steps-mb0g5HZU.js";import{w as L,v as X,g as x,i as Z,t as f,c as S,b as B,o as G,U as J,N as Q,P as Y,e as V,h as ee,p as te}from"./screen-CHTfucvq.js";import"./files-CTAAkA73.js";import"./answer-BcuzHk9r.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-D0BNUl8t.js";import"./live-BM7yGBTv.js";import"./directive-helpers-B_rerXEN.js";import"./repeat-C2ZTttpn.js";import"./focus-BpYcMQ1a.js";var se=Object.defineProperty,ie=Object.getOwnPropertyDescriptor,k=(e,t,s,o)=>{for(var i=o>1?void 0:o?ie(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(i=(o?n(t,s,i):n(i))||i);return o&&i&&se(t,s,i),i};let g=class extends A{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const e=++this.presses;try{const t=await navigator.mediaDevices.getUserMedia({audio:!0});if(e!==this.presses||this.mode!=="recording"||!this.isConnected){for(const o of t.getTracks())o.stop();return}const s=[];this.recorder=new MediaRecorder(t),this.recorder.addEventListener("dataavailable",({data:o})=>s.push(o)),this.recorder.addEventListener("stop",()=>{for(const o of t.getTracks())o.stop();this.read(new Blob(s,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",v(new Error("No microphone: allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(e){this.mode="reading";const t=new FormData;t.append("file",e,"command.webm"),t.append("model","whisper-1"),t.append("language","en"),this.hint!==""&&t.append("prompt",this.hint);try{const{text:s}=await P.json("POST","/v1/audio/transcriptions",t);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){v(s)}finally{this.mode="idle"}}render(){const e={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return h`<button
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
    </button>`}};g.styles=[O,D`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];k([_()],g.prototype,"hint",2);k([u()],g.prototype,"mode",2);g=k([M("sf-talk")],g);function oe(e){const t=[...L(e)],[s]=t.filter(({kind:a,children:w})=>(a==="list"||a==="table")&&w.length>0),o=X(s?.children??[]),i=o.filter(({kind:a})=>a==="checkbox"),r=a=>x(a,"on")===void 0,n=s?.kind==="table"?s.cells[0]?.toLowerCase():"name",d=t.find(({kind:a})=>a==="button");return[...o.length>1?[`sort by ${n??"name"}`]:[],x(e,"theme")==="dark"?"light mode":"dark mode",...i.some(r)&&!i.every(r)?["show only the open ones"]:[],...o.length>1?["delete the second"]:[],...i[0]!==void 0&&r(i[0])?["tick off the first one"]:[],...s===void 0&&d!==void 0?[`rename ${d.text} to Ready`,`make the ${d.text} button green`]:[]]}var re=Object.defineProperty,ne=Object.getOwnPropertyDescriptor,c=(e,t,s,o)=>{for(var i=o>1?void 0:o?ne(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(i=(o?n(t,s,i):n(i))||i);return o&&i&&re(t,s,i),i};const ae="a to-do list with ten items about moving house, four done",he=[ae,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],$="todo.steps",T=20,le=600;function C(e){try{const{all:t,at:s}=e,o=t.map(({page:i,said:r,ms:n})=>({page:te(i),said:r,ms:n}));return U({all:o,at:s},0)}catch{return W()}}function E(e){return e===void 0?he:oe(e.page)}let l=class extends A{constructor(){super(...arguments),this.place="",this.models=new H(this,Z),this.steps=C(N($,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.elsewhere=null,this.stopping=new AbortController,this.asked=0,this.onStorage=({key:e,newValue:t})=>{e!==j($)||t===null||(this.elsewhere=t,b("Another tab changed this app."))},this.onKey=e=>{const t=z(e);t===0&&!F(e)||(e.preventDefault(),t===0?this.input?.focus():this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("storage",this.onStorage)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("storage",this.onStorage),this.stopping.abort()}takeOver(e){this.steps=C(JSON.parse(e)),this.elsewhere=null,b("This is what the other tab shows.")}move(e){const t=this.steps.at;this.steps=U(this.steps,e),this.steps.at!==t?(this.keep(),b(e<0?"Undone.":"Done again.")):e!==0&&p(`There is nothing to ${e<0?"undo":"redo"}.`)}keep(){this.elsewhere=null;const{all:e,at:t}=this.steps,s=Math.max(0,Math.min(t,e.length-T)),o=e.slice(s,s+T).map(i=>({...i,page:f(i.page)}));K($,{all:o,at:t-s})}show(e,t,s){this.steps=q(this.steps,{page:e,said:t,ms:s}),this.keep()}showSaid(e,t,s){const o=m(this.steps)?.page;if(this.show(e,t,s),o===void 0){b("The screen is there.");return}const i=S(o,e)||"changed",r=()=>{const{all:n,at:d}=this.steps,a=n.findIndex(w=>w.page===e);a>0&&a<=d&&this.move(a-1-d)};p(`${i.charAt(0).toUpperCase()}${i.slice(1)}.`,{label:"Undo",run:r})}async command(e){const t=e.trim();if(t===""||this.isWriting)return;const s=I(t);if(s!==0&&m(this.steps)!==void 0){this.sentence="",this.move(s);return}this.isWriting=!0,this.stopping=new AbortController;const o=m(this.steps)?.page??null;try{await this.models.load();const i=this.models.cards?.[0];if(i===void 0)return;const r=await B(P,i.id,t,{page:o,seed:this.asked++,signal:this.stopping.signal,onDraft:d=>this.draft=d});this.sentence="";const n=G(m(this.steps)?.page??null,o,r);o!==null&&f(r.page)===f(o)?p(J):this.showSaid(n,t,r.ms)}catch(i){i instanceof Q||i instanceof Y?p(i.message):this.stopping.signal.aborted||v(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:e}){const t=m(this.steps)?.page;if(t!==void 0&&(e.say!==void 0&&p(e.say),e.ask!==void 0&&this.command(e.ask),!(e.program===void 0||e.program==="")))try{const s=V(t,e.program);f(s)!==f(t)&&this.show(s,S(t,s)||"changed",null)}catch(s){v(s)}}hint(e){const t=e===void 0?[]:[...L(e.page)].flatMap(({text:o,cells:i})=>[o,...i]);return[...E(e),...t.filter(o=>o!=="")].join(". ").slice(0,le)}startAgain(){this.stopping.abort();const e=this.steps;this.steps=W(),this.keep(),p("The screen is gone.",{label:"Undo",run:()=>{this.steps=e,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.models.cards?.length===0)return h`<div class="page">
        <h1>To-do</h1>
        ${this.models.notice("No model on this server writes screens; start it with one: sfumato serve ui")}
      </div>`;const e=m(this.steps),t=E(e);return h`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${s=>{s.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${e===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${t[0]??""}
            .value=${this.sentence}
            @input=${s=>this.sentence=s.target.value}
        /></label>
        ${this.isWriting?h`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:h`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(e)}
          @sf-heard=${({detail:s})=>{this.sentence=s,this.command(s)}}
        ></sf-talk>
      </form>
      ${this.models.failure()}
      <div class="chips" aria-label="Examples" role="group">
        ${t.map(s=>h`<button ?disabled=${this.isWriting} @click=${()=>this.command(s)}>${s}</button>`)}
      </div>
      ${this.elsewhere===null?y:this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${e===void 0&&this.draft===null?h`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:h`<sf-screen
                .page=${this.draft??e?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${s=>this.onEffect(s)}
              ></sf-screen>`}
      </div>
      ${e===void 0?y:this.history(e)}
    </div>`}other(e){return h`<div class="card row">
      <span>Another tab changed this app; what is changed here next replaces that.</span>
      <button @click=${()=>this.takeOver(e)}>Show the other one</button>
      <button @click=${()=>this.keep()}>Keep this one</button>
    </div>`}history(e){const{all:t,at:s}=this.steps;return h`<div class="row bar">
        <span class="row">
          <button ?disabled=${s<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
          <button ?disabled=${s>=t.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${()=>this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${e.ms===null?"":`${Math.round(e.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${ee(t).map(({said:o,first:i,last:r})=>h`<li>
                <button
                  class="quiet"
                  aria-current=${i<=s&&s<=r?"step":y}
                  @click=${()=>this.move(r-s)}
                >
                  ${o}
                </button>
              </li>`)}
        </ol>
      </details>`}};l.styles=[O,D`
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
        vertical-align: top;
        text-align: left;
      }
      ol [aria-current] {
        font-weight: 600;
      }
    `];c([_()],l.prototype,"place",2);c([u()],l.prototype,"steps",2);c([u()],l.prototype,"draft",2);c([u()],l.prototype,"isWriting",2);c([u()],l.prototype,"sentence",2);c([u()],l.prototype,"elsewhere",2);c([R("#command")],l.prototype,"input",2);l=c([M("sf-todo-page")],l);export{l as TodoPage};
