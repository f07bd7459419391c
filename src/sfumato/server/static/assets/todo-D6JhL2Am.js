import{e as O,i as M,o as _,r as u,g as A,y as v,c as P,d,C as K,v as j,q as N,b as k,F as L,u as F,x as m,A as w,f as I}from"./index-CMMe71eo.js";import{M as H}from"./models-B0BZkP56.js";import{o as q}from"./other-tab-CS299ns6.js";import{s as z}from"./start-stop-iAhsBg9B.js";import{b as X,i as Z,c as B,a as G}from"./keys-D98DPntO.js";import{g as R,p as J,c as p,n as U}from"./steps-Bb5mR1ze.js";import{w as W,v as Q,g as x,i as V,t as g,b as Y,c as T,d as ee,o as te,U as se,N as ie,P as C,e as re,h as oe,p as ne,M as ae}from"./screen-D9lfN4HQ.js";import"./answer-CwhH4pm4.js";import"./canvas-BqwZnn-S.js";import"./offsets-EgNy2a1f.js";import"./take-R79uc_On.js";import"./live-Cg5bwphB.js";import"./repeat-DFZ7HjUn.js";import"./focus-BpYcMQ1a.js";var le=Object.defineProperty,he=Object.getOwnPropertyDescriptor,$=(e,t,s,i)=>{for(var r=i>1?void 0:i?he(t,s):t,n=e.length-1,o;n>=0;n--)(o=e[n])&&(r=(i?o(t,s,r):o(r))||r);return i&&r&&le(t,s,r),r};let b=class extends A{constructor(){super(...arguments),this.hint="",this.mode="idle",this.recorder=null,this.presses=0}disconnectedCallback(){super.disconnectedCallback(),this.end()}async begin(){if(this.mode!=="idle")return;this.mode="recording";const e=++this.presses;try{const t=await navigator.mediaDevices.getUserMedia({audio:!0});if(e!==this.presses||this.mode!=="recording"||!this.isConnected){for(const i of t.getTracks())i.stop();return}const s=[];this.recorder=new MediaRecorder(t),this.recorder.addEventListener("dataavailable",({data:i})=>s.push(i)),this.recorder.addEventListener("stop",()=>{for(const i of t.getTracks())i.stop();this.read(new Blob(s,{type:this.recorder?.mimeType??""}))}),this.recorder.start()}catch{this.mode="idle",v(new Error("No microphone: connect one and allow it in the browser, or type"))}}end(){this.mode==="recording"&&(this.recorder?.state==="recording"?this.recorder.stop():this.mode="idle")}onKey(e){e.repeat||e.key!==" "&&e.key!=="Enter"||(e.key==="Enter"&&e.preventDefault(),e.key==="Enter"&&this.mode==="recording"?this.end():this.begin())}async read(e){this.mode="reading";const t=new FormData;t.append("file",e,"command.webm"),t.append("model","whisper-1"),t.append("language","en"),this.hint!==""&&t.append("prompt",this.hint);try{const{text:s}=await P.json("POST","/v1/audio/transcriptions",t);this.dispatchEvent(new CustomEvent("sf-heard",{detail:s.trim(),bubbles:!0,composed:!0}))}catch(s){v(s)}finally{this.mode="idle"}}render(){const e={idle:"Hold to talk",recording:"Listening …",reading:"Reading …"}[this.mode];return d`<button
      type="button"
      class=${this.mode}
      ?disabled=${this.mode==="reading"}
      @pointerdown=${()=>this.begin()}
      @pointerup=${()=>this.end()}
      @pointerleave=${()=>this.end()}
      @blur=${()=>this.end()}
      @keydown=${t=>this.onKey(t)}
      @keyup=${t=>t.key===" "&&this.end()}
    >
      ${e}
    </button>`}};b.styles=[O,M`
      button.recording {
        background: var(--error);
        color: var(--bg);
      }
    `];$([_()],b.prototype,"hint",2);$([u()],b.prototype,"mode",2);b=$([K("sf-talk")],b);function de(e){const t=[...W(e)],[s]=t.filter(({kind:a,children:f})=>(a==="list"||a==="table")&&f.length>0),i=Q(s?.children??[]),r=i.filter(({kind:a})=>a==="checkbox"),n=a=>x(a,"on")===void 0,o=s?.kind==="table"?s.cells[0]?.toLowerCase():"name",l=t.find(({kind:a})=>a==="button");return[...i.length>1?[`sort by ${o??"name"}`]:[],x(e,"theme")==="dark"?"light mode":"dark mode",...r.some(n)&&!r.every(n)?["show only the open ones"]:[],...i.length>1?["delete the second"]:[],...r[0]!==void 0&&n(r[0])?["tick off the first one"]:[],...s===void 0&&l!==void 0?[`rename ${l.text} to Ready`,`make the ${l.text} button green`]:[]]}var ce=Object.defineProperty,pe=Object.getOwnPropertyDescriptor,c=(e,t,s,i)=>{for(var r=i>1?void 0:i?pe(t,s):t,n=e.length-1,o;n>=0;n--)(o=e[n])&&(r=(i?o(t,s,r):o(r))||r);return i&&r&&ce(t,s,r),r};const me="a to-do list with ten items about moving house, four done",ue=[me,"a numbered list about music with five things","a to-do list for football with 7 tasks and an input for new ones with a dark theme"],y="todo.steps",E=20,fe=600;function D(e){try{const{all:t,at:s}=e,i=t.map(({page:r,said:n,ms:o})=>({page:ne(r),said:n,ms:o}));return R({all:i,at:s},0)}catch{return U()}}function S(e){return e===void 0?ue:de(e.page)}let h=class extends A{constructor(){super(...arguments),this.place="",this.models=new H(this,V),this.steps=D(j(y,null)),this.draft=null,this.isWriting=!1,this.sentence="",this.elsewhere=null,this.stopping=new AbortController,this.retract=()=>{},this.asked=0,this.onKey=e=>{const t=X(e);t===0&&!Z(e)||(e.preventDefault(),t===0?this.input?.focus():this.move(t))}}firstUpdated(){N(y,e=>this.elsewhere=e)}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}takeOver(e){this.steps=D(e),this.elsewhere=null,k("This is what the other tab shows.")}move(e){const t=this.steps.at;this.steps=R(this.steps,e),this.steps.at!==t&&(this.retract(),this.keep()),e!==0&&L(e,this.steps.at!==t)}keep(){this.elsewhere=null;const{all:e,at:t}=this.steps,s=Math.max(0,Math.min(t,e.length-E)),i=e.slice(s,s+E).map(r=>({...r,page:g(r.page)}));F(y,{all:i,at:t-s})}show(e,t,s){this.steps=J(this.steps,{page:e,said:t,ms:s}),this.keep()}showSaid(e,t,s){const i=p(this.steps)?.page;if(this.show(e,t,s),i===void 0){const o=-Math.min(0,Y(e,t)??0);o>0?m(`The model wrote ${o} fewer than you asked for.`):k("Done.");return}const r=T(i,e)||"changed",n=()=>{const{all:o,at:l}=this.steps,a=o.findIndex(f=>f.page===e);a>0&&a<=l&&this.move(a-1-l)};this.retract=m(`${r.charAt(0).toUpperCase()}${r.slice(1)}.`,{label:"Undo",run:n})}async command(e){const t=e.trim();if(t===""||this.isWriting)return;const s=B(t);if(s!==0&&p(this.steps)!==void 0){this.sentence="",this.move(s);return}if(G(t)&&p(this.steps)!==void 0){this.startAgain();return}const i=this.sentence.trim()===t;i&&(this.sentence="");let r=!1;this.isWriting=!0,this.stopping=new AbortController;const n=p(this.steps)?.page??null;try{await this.models.load();const o=this.models.cards?.[0];if(o===void 0)return;const l=await ee(P,o.id,t,{page:n,seed:this.asked++,signal:this.stopping.signal,onDraft:f=>this.draft=f});r=!0;const a=te(p(this.steps)?.page??null,n,l);n!==null&&g(l.page)===g(n)?m(se):this.showSaid(a,t,l.ms)}catch(o){o instanceof ie||o instanceof C?m(o.message):this.stopping.signal.aborted||v(o)}finally{this.isWriting=!1,this.draft=null,i&&!r&&this.sentence===""&&(this.sentence=t)}}onEffect(e){const{detail:t}=e,s=p(this.steps)?.page;if(s!==void 0&&(t.say!==void 0&&m(t.say),t.ask!==void 0&&this.command(t.ask),!(t.program===void 0||t.program==="")))try{const i=re(s,t.program);g(i)!==g(s)&&this.show(i,T(s,i)||"changed",null)}catch(i){e.preventDefault(),v(i instanceof C?ae:i)}}hint(e){const t=e===void 0?[]:[...W(e.page)].flatMap(({text:i,cells:r})=>[i,...r]);return[...S(e),...t.filter(i=>i!=="")].join(". ").slice(0,fe)}startAgain(){this.stopping.abort();const e=this.steps;this.steps=U(),this.keep(),m("Cleared.",{label:"Undo",run:()=>{this.steps=e,this.keep()}}),this.sentence="",this.updateComplete.then(()=>this.input.focus())}render(){if(this.models.cards?.length===0)return d`<div class="page">
        <h1>To-do</h1>
        ${this.models.notice("No model on this server writes screens; start it with one: sfumato serve ui")}
      </div>`;const e=p(this.steps),t=S(e);return d`<div class="page">
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
        ${z({label:"Do it",isRunning:this.isWriting,canStart:this.sentence.trim()!=="",stop:()=>this.stopping.abort()})}
        <sf-talk
          .hint=${this.hint(e)}
          @sf-heard=${({detail:s})=>{this.sentence=s,this.command(s)}}
        ></sf-talk>
      </form>
      ${this.models.failure()}
      <div class="chips" aria-label="Examples" role="group">
        ${t.map(s=>d`<button ?disabled=${this.isWriting} @click=${()=>this.command(s)}>${s}</button>`)}
      </div>
      ${this.elsewhere===null?w:this.other(this.elsewhere)}
      <div class="screen" aria-busy=${String(this.isWriting)}>
        ${e===void 0&&this.draft===null?d`<p class="empty muted">
                Describe a list, a table or a form above and it appears here. Then say what to change, or use
                it as it is: everything on it works.
              </p>`:d`<sf-screen
                .page=${this.draft??e?.page??null}
                ?draft=${this.draft!==null}
                @sf-effect=${s=>this.onEffect(s)}
              ></sf-screen>`}
      </div>
      ${e===void 0?w:this.history(e)}
    </div>`}other(e){return q("Another tab changed this app; what is changed here next replaces that.",[{label:"Show the other one",run:()=>this.takeOver(e)},{label:"Keep this one",run:()=>this.keep()}])}history(e){const{all:t,at:s}=this.steps;return d`<div class="row bar">
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
          ${oe(t).map(({said:i,first:r,last:n})=>d`<li>
                <button
                  class="quiet"
                  aria-current=${r<=s&&s<=n?"step":w}
                  @click=${()=>this.move(n-s)}
                >
                  ${i}
                </button>
              </li>`)}
        </ol>
      </details>`}};h.styles=[O,M`
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
    `];c([_()],h.prototype,"place",2);c([u()],h.prototype,"steps",2);c([u()],h.prototype,"draft",2);c([u()],h.prototype,"isWriting",2);c([u()],h.prototype,"sentence",2);c([u()],h.prototype,"elsewhere",2);c([I("#command")],h.prototype,"input",2);h=c([K("sf-todo-page")],h);export{h as TodoPage};
