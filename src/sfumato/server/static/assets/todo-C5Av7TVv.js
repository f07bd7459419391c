import{e as D,i as _,o as P,r as c,g as A,w as g,c as k,d as l,y as U,u as N,l as j,b as v,v as m,t as K,A as y,f as R}from"./index-DndOhkh0.js";import{u as H,i as F,a as I}from"./keys-Bvww4gEl.js";import{o as q}from"./focus-b5X2TNzl.js";import{g as W,p as z,c as u,n as L}from"./steps-mb0g5HZU.js";import{w as M,v as X,g as S,t as f,c as T,d as Z,o as B,U as G,N as J,P as Q,e as Y,h as V,p as tt,a as et}from"./screen-CcMNT42n.js";import"./answer-Cs3Qbr9a.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-D0BNUl8t.js";import"./live-RN6_Qvv0.js";import"./directive-helpers-lNBWTUBO.js";import"./repeat-6UOP7L11.js";var st=Object.defineProperty,it=Object.getOwnPropertyDescriptor,x=(t,e,s,o)=>{for(var i=o>1?void 0:o?it(e,s):e,r=t.length-1,n;r>=0;r--)(n=t[r])&&(i=(o?n(e,s,i):n(i))||i);return o&&i&&st(e,s,i),i};let b=class extends A{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const t=++this.presses;try{const e=await navigator.mediaDevices.getUserMedia({audio:!0});if(t!==this.presses||this.mode!=="recording"||!this.isConnected){for(const o of e.getTracks())o.stop();return}const s=[];this.recorder=new MediaRecorder(e),this.recorder.addEventListener("dataavailable",({data:o})=>s.push(o)),this.recorder.addEventListener("stop",()=>{for(const o of e.getTracks())o.stop();this.read(new Blob(s,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",g(new Error("No microphone: allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}async read(t){this.mode="reading";const e=new FormData;e.append("file",t,"command.webm"),e.append("model","whisper-1"),e.append("language","en"),this.hint!==""&&e.append("prompt",this.hint);try{const{text:s}=await k.json("POST","/v1/audio/transcriptions",e);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){g(s)}finally{this.mode="idle"}}render(){const t={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return l`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @blur=${()=>this.end()}
      @keydown=${e=>e.key===" "&&!e.repeat&&void this.begin()}
      @keyup=${e=>e.key===" "&&this.end()}
    >
      ${t}
    </button>`}};b.styles=[D,_`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];x([P()],b.prototype,"hint",2);x([c()],b.prototype,"mode",2);b=x([U("sf-talk")],b);function ot(t){const e=[...M(t)],[s]=e.filter(({kind:a,children:w})=>(a==="list"||a==="table")&&w.length>0),o=X(s?.children??[]),i=o.filter(({kind:a})=>a==="checkbox"),r=a=>S(a,"on")===void 0,n=s?.kind==="table"?s.cells[0]?.toLowerCase():"name",p=e.find(({kind:a})=>a==="button");return[...o.length>1?[`sort by ${n??"name"}`]:[],S(t,"theme")==="dark"?"light mode":"dark mode",...i.some(r)&&!i.every(r)?["show only the open ones"]:[],...o.length>1?["delete the second"]:[],...i[0]!==void 0&&r(i[0])?["tick off the first one"]:[],...s===void 0&&p!==void 0?[`rename ${p.text} to Ready`,`make the ${p.text} button green`]:[]]}var rt=Object.defineProperty,nt=Object.getOwnPropertyDescriptor,d=(t,e,s,o)=>{for(var i=o>1?void 0:o?nt(e,s):e,r=t.length-1,n;r>=0;r--)(n=t[r])&&(i=(o?n(e,s,i):n(i))||i);return o&&i&&rt(e,s,i),i};const at="a to-do list with ten items about moving house, four done",ht=[at,"a table about books with five rows, columns name, author and year","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],$="todo.steps",C=20,lt=600;function E(t){try{const{all:e,at:s}=t,o=e.map(({page:i,said:r,ms:n})=>({page:tt(i),said:r,ms:n}));return W({all:o,at:s},0)}catch{return L()}}function O(t){return t===void 0?ht:ot(t.page)}let h=class extends A{constructor(){super(...arguments),this.place="",this.cards=null,this.begin=q(async()=>{this.cards=et(await k.models()),this.model=this.cards[0]?.id??""}),this.model="",this.steps=E(N($,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.elsewhere=null,this.stopping=new AbortController,this.asked=0,this.onStorage=({key:t,newValue:e})=>{t!==j($)||e===null||(this.elsewhere=e,v("Another tab changed this app."))},this.onKey=t=>{const e=H(t);e===0&&!F(t)||(t.preventDefault(),e===0?this.input?.focus():this.move(e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("storage",this.onStorage),this.begin().catch(g)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("storage",this.onStorage),this.stopping.abort()}takeOver(t){this.steps=E(JSON.parse(t)),this.elsewhere=null,v("This is what the other tab shows.")}move(t){const e=this.steps.at;this.steps=W(this.steps,t),this.steps.at!==e?(this.keep(),v(t<0?"Undone.":"Done again.")):t!==0&&m(`There is nothing to ${t<0?"undo":"redo"}.`)}keep(){this.elsewhere=null;const{all:t,at:e}=this.steps,s=Math.max(0,Math.min(e,t.length-C)),o=t.slice(s,s+C).map(i=>({...i,page:f(i.page)}));K($,{all:o,at:e-s})}show(t,e,s){this.steps=z(this.steps,{page:t,said:e,ms:s}),this.keep()}showSaid(t,e,s){const o=u(this.steps)?.page;if(this.show(t,e,s),o===void 0){v("The screen is there.");return}const i=T(o,t)||"changed",r=()=>{const{all:n,at:p}=this.steps,a=n.findIndex(w=>w.page===t);a>0&&a<=p&&this.move(a-1-p)};m(`${i.charAt(0).toUpperCase()}${i.slice(1)}.`,{label:"Undo",run:r})}async command(t){const e=t.trim();if(e===""||this.isWriting)return;const s=I(e);if(s!==0&&u(this.steps)!==void 0){this.sentence="",this.move(s);return}this.isWriting=!0,this.stopping=new AbortController;const o=u(this.steps)?.page??null;try{if(await this.begin(),this.model==="")return;const i=await Z(k,this.model,e,{page:o,seed:this.asked++,signal:this.stopping.signal,onDraft:n=>this.draft=n});this.sentence="";const r=B(u(this.steps)?.page??null,o,i);o!==null&&f(i.page)===f(o)?m(G):this.showSaid(r,e,i.ms)}catch(i){i instanceof J||i instanceof Q?m(i.message):this.stopping.signal.aborted||g(i)}finally{this.isWriting=!1,this.draft=null}}onEffect({detail:t}){const e=u(this.steps)?.page;if(e!==void 0&&(t.say!==void 0&&m(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{const s=Y(e,t.program);f(s)!==f(e)&&this.show(s,T(e,s)||"changed",null)}catch(s){g(s)}}hint(t){const e=t===void 0?[]:[...M(t.page)].flatMap(({text:o,cells:i})=>[o,...i]);return[...O(t),...e.filter(o=>o!=="")].join(". ").slice(0,lt)}startAgain(){this.stopping.abort();const t=this.steps;this.steps=L(),this.keep(),m("The screen is gone.",{label:"Undo",run:()=>{this.steps=t,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.cards?.length===0)return l`<div class="page">
        <h1>To-do</h1>
        <p class="muted">No model on this server writes screens; start it with one: sfumato serve ui</p>
      </div>`;const t=u(this.steps),e=O(t);return l`<div class="page">
      <h1>To-do</h1>
      <p class="muted intro">
        Describe an app and it appears; each sentence after that changes what it is about, and nothing else.
      </p>
      <form
        @submit=${s=>{s.preventDefault(),this.command(this.sentence)}}
      >
        <label
          >${t===void 0?"Say what you want":"Say what to change"}
          <input
            id="command"
            autocomplete="off"
            placeholder=${e[0]??""}
            .value=${this.sentence}
            @input=${s=>this.sentence=s.target.value}
        /></label>
        ${this.isWriting?l`<button type="button" @click=${()=>this.stopping.abort()}>Stop</button>`:l`<button class="primary" ?disabled=${this.sentence.trim()===""}>Do it</button>`}
        <sf-talk
          .hint=${this.hint(t)}
          @sf-heard=${({detail:s})=>{this.sentence=s,this.command(s)}}
        ></sf-talk>
      </form>
      <div class="chips" aria-label="Examples" role="group">
        ${e.map(s=>l`<button ?disabled=${this.isWriting} @click=${()=>this.command(s)}>${s}</button>`)}
      </div>
      ${this.elsewhere===null?y:this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${t===void 0&&this.draft===null?l`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:l`<sf-screen
                .page=${this.draft??t?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${s=>this.onEffect(s)}
              ></sf-screen>`}
      </div>
      ${t===void 0?y:this.history(t)}
    </div>`}other(t){return l`<div class="card row">
      <span>Another tab changed this app; what is changed here next replaces that.</span>
      <button @click=${()=>this.takeOver(t)}>Show the other one</button>
      <button @click=${()=>this.keep()}>Keep this one</button>
    </div>`}history(t){const{all:e,at:s}=this.steps;return l`<div class="row bar">
        <span class="row">
          <button ?disabled=${s<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>Undo</button>
          <button ?disabled=${s>=e.length-1} title="Ctrl+Shift+Z" @click=${()=>this.move(1)}>
            Redo
          </button>
          <button class="quiet" @click=${()=>this.startAgain()}>Start again</button>
        </span>
        <span class="figures">${t.ms===null?"":`${Math.round(t.ms)} ms`}</span>
      </div>
      <details>
        <summary>History of changes</summary>
        <ol>
          ${V(e).map(({said:o,first:i,last:r})=>l`<li>
                <button
                  class="quiet"
                  aria-current=${i<=s&&s<=r?"step":y}
                  @click=${()=>this.move(r-s)}
                >
                  ${o}
                </button>
              </li>`)}
        </ol>
      </details>`}};h.styles=[D,_`
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
    `];d([P()],h.prototype,"place",2);d([c()],h.prototype,"cards",2);d([c()],h.prototype,"model",2);d([c()],h.prototype,"steps",2);d([c()],h.prototype,"draft",2);d([c()],h.prototype,"isWriting",2);d([c()],h.prototype,"sentence",2);d([c()],h.prototype,"elsewhere",2);d([R("#command")],h.prototype,"input",2);h=d([U("sf-todo-page")],h);export{h as TodoPage};
