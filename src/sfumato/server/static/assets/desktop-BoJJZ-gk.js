import{e as C,i as _,n as u,g as A,d as r,t as L,m as T,c as $,o as w,l as j,s as b,b as z,A as k,r as S}from"./index-iF5kxkqc.js";import{c as N}from"./repeat-DxlbllGB.js";import{g as I,p as U,n as F,c as M}from"./steps-DYch-8T4.js";import{p as R,P as q,t as y,a as B,w as H,N as X,e as Y}from"./screen-CDV6dfeF.js";import"./offsets-EgNy2a1f.js";import"./canvas-DS9N_J7d.js";import"./take-CQINWBEi.js";var G=Object.defineProperty,J=Object.getOwnPropertyDescriptor,g=(e,t,s,i)=>{for(var n=i>1?void 0:i?J(t,s):t,o=e.length-1,a;o>=0;o--)(a=e[o])&&(n=(i?a(t,s,n):a(n))||n);return i&&n&&G(t,s,n),n};const E=24,P={width:240,height:160};let c=class extends A{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1}updated(){const{x:e,y:t,width:s,height:i}=this.place,n=matchMedia("(max-width: 40rem)").matches;Object.assign(this.style,n?{left:"",top:"",width:"",height:""}:{left:`${e}px`,top:`${t}px`,width:`${s}px`,height:`${i}px`})}send(e){this.dispatchEvent(new CustomEvent("sf-window",{detail:e,bubbles:!0,composed:!0}))}change(e){const t={...this.place,...e},s={x:Math.max(0,t.x),y:Math.max(0,t.y),width:Math.max(P.width,t.width),height:Math.max(P.height,t.height)};this.dispatchEvent(new CustomEvent("sf-place",{detail:s,bubbles:!0,composed:!0}))}drag(e,t){if(e.target instanceof HTMLButtonElement&&e.target!==e.currentTarget)return;this.send("front");const[s,i]=[this.place,e.currentTarget];i.setPointerCapture(e.pointerId);const n=a=>this.change(t({x:a.clientX-e.clientX,y:a.clientY-e.clientY},s));i.addEventListener("pointermove",n);const o=()=>i.removeEventListener("pointermove",n);i.addEventListener("pointerup",o,{once:!0}),i.addEventListener("pointercancel",o,{once:!0})}onKey(e){const t={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[e.key];if(t===void 0||e.target!==e.currentTarget)return;const[s,i]=[(t[0]??0)*E,(t[1]??0)*E],{x:n,y:o,width:a,height:p}=this.place;this.change(e.shiftKey?{width:a+s,height:p+i}:{x:n+s,y:o+i}),e.preventDefault()}render(){return r`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @pointerdown=${e=>{this.drag(e,(t,s)=>({x:s.x+t.x,y:s.y+t.y}))}}
      >
        <h2>${this.name}</h2>
        <button class="quiet" aria-label=${`Minimise ${this.name}`} @click=${()=>this.send("minimise")}>
          –
        </button>
        <button class="quiet" aria-label=${`Close ${this.name}`} @click=${()=>this.send("close")}>✕</button>
      </header>
      <div class="inside" @pointerdown=${()=>this.send("front")}><slot></slot></div>
      <div
        class="corner"
        aria-hidden="true"
        @pointerdown=${e=>{this.drag(e,(t,s)=>({width:s.width+t.x,height:s.height+t.y}))}}
      ></div>`}};c.styles=[C,_`
      :host {
        position: absolute;
        display: grid;
        grid-template-rows: auto minmax(0, 1fr);
        background: var(--surface);
        border: 1px solid var(--line);
        border-radius: 12px;
        box-shadow: 0 8px 30px rgb(0 0 0 / 18%);
        overflow: hidden;
      }
      :host([front]) {
        border-color: var(--accent);
      }
      header {
        display: flex;
        align-items: center;
        gap: 0.25rem;
        padding: 0.3rem 0.4rem 0.3rem 0.8rem;
        background: var(--surface-2);
        cursor: move;
        touch-action: none;
        user-select: none;
      }
      h2 {
        flex: 1;
        margin: 0;
        font-size: 0.95rem;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
      }
      header button {
        padding: 0.05rem 0.5rem;
      }
      .inside {
        overflow: auto;
        min-height: 0;
      }
      .corner {
        position: absolute;
        inset: auto 0 0 auto;
        width: 18px;
        height: 18px;
        cursor: nwse-resize;
        touch-action: none;
        background: linear-gradient(135deg, transparent 50%, var(--line-strong) 50%);
        border: 0;
        padding: 0;
      }
      @media (max-width: 40rem) {
        :host {
          position: static;
        }
        .corner {
          display: none;
        }
      }
    `];g([u()],c.prototype,"name",2);g([u({attribute:!1})],c.prototype,"place",2);g([u({type:Boolean})],c.prototype,"front",2);c=g([L("sf-window")],c);const Q=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}];function V(){return{windows:[],next:1}}function K(e,t,s){const i=Math.min(420,s-32),n=Math.max(1,Math.floor((s-32)/(i+16))),[o,a]=[(e.next-1)%n,Math.floor((e.next-1)/n)%5],p={x:16+o*(i+16)+24*a,y:16+40*a,width:i,height:440},m={id:e.next,app:t,place:p,isMinimised:!1,pages:F(),draft:null,isWriting:!1,error:""};return{windows:[...e.windows,m],next:e.next+1}}function d(e,t,s){return{...e,windows:e.windows.map(i=>i.id===t?{...i,...s}:i)}}function D(e,t){const s=e.windows.find(i=>i.id===t);return s===void 0||e.windows.at(-1)===s?e:{...e,windows:[...e.windows.filter(i=>i!==s),s]}}function Z(e,t){return{...e,windows:e.windows.filter(s=>s.id!==t)}}function v(e,t,s){const i=e.windows.find(n=>n.id===t);return i===void 0?e:d(e,t,{pages:U(i.pages,s),error:""})}function W(e,t,s){const i=e.windows.find(n=>n.id===t);return i===void 0?e:d(e,t,{pages:I(i.pages,s)})}function ee(e){return e.windows.flatMap(({app:t,place:s,isMinimised:i,pages:n})=>{const o=n.all[n.at];return o===void 0?[]:[{app:t,place:s,isMinimised:i,page:y(o)}]})}function te(e){let t=V();for(const s of Array.isArray(e)?e:[]){const{app:i,place:n,isMinimised:o,page:a}=s??{},{name:p,sentence:m}=i??{},x=Object.values(n??{});if(!(typeof p!="string"||typeof m!="string"||typeof a!="string")&&!(x.length!==4||!x.every(Number.isFinite)))try{const l=t.next;t=v(K(t,{name:p,sentence:m},1e3),l,R(a)),t=d(t,l,{place:n,isMinimised:o===!0})}catch(l){if(!(l instanceof q))throw l}}return t}var ie=Object.defineProperty,se=Object.getOwnPropertyDescriptor,f=(e,t,s,i)=>{for(var n=i>1?void 0:i?se(t,s):t,o=e.length-1,a;o>=0;o--)(a=e[o])&&(n=(i?a(t,s,n):a(n))||n);return i&&n&&ie(t,s,n),n};const O="desktop";let h=class extends A{constructor(){super(...arguments),this.place="",this.model=null,this.desktop=te(T(O,[])),this.stopping=new Map,this.asked=0,this.onKey=e=>{const t=e.composedPath().some(i=>i instanceof HTMLInputElement&&i.type==="text"),s=this.desktop.windows.filter(({isMinimised:i})=>!i).at(-1);!(e.ctrlKey||e.metaKey)||e.key.toLowerCase()!=="z"||t||s===void 0||(e.preventDefault(),this.change(W(this.desktop,s.id,e.shiftKey?1:-1)))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),$.models().then(e=>this.model=B(e)[0]?.id??"",w)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey);for(const e of this.stopping.values())e.abort()}change(e){this.desktop=e,j(O,ee(e))}open(e){const t=this.desktop.next;this.change(K(this.desktop,e,this.clientWidth)),this.ask(t,e.sentence)}async ask(e,t){const s=this.desktop.windows.find(o=>o.id===e);if(s===void 0||s.isWriting||!this.model||t.trim()==="")return;const i=new AbortController;this.stopping.set(e,i);const n=M(s.pages)??null;this.desktop=d(this.desktop,e,{isWriting:!0,error:""});try{const o=await H($,this.model,t,{page:n,seed:this.asked++,signal:i.signal,onDraft:a=>this.desktop=d(this.desktop,e,{draft:a})});n!==null&&y(n)===y(o.page)?b("It is like that already."):this.change(v(this.desktop,e,o.page)),z(`${s.app.name}: changed.`)}catch(o){o instanceof X?n===null?this.desktop=d(this.desktop,e,{error:o.message}):b(o.message):i.signal.aborted||(w(o),this.desktop=d(this.desktop,e,{error:n===null?"It was not written.":""}))}finally{this.desktop=d(this.desktop,e,{isWriting:!1,draft:null})}}onEffect(e,t,s){if(s.say!==void 0&&b(s.say),s.ask!==void 0&&this.ask(e.id,s.ask),!(s.program===void 0||s.program===""))try{this.change(v(this.desktop,e.id,Y(t,s.program)))}catch(i){w(i)}}onWindow(e,t){t==="close"?(this.stopping.get(e.id)?.abort(),this.change(Z(this.desktop,e.id))):t==="minimise"?this.change(d(this.desktop,e.id,{isMinimised:!0})):this.change(D(this.desktop,e.id))}render(){return r`<div class="page">
      <h1>Desktop</h1>
      ${this.model===""?r`<p class="muted">
              No model of this server writes screens; start it with one: sfumato serve ui
            </p>`:k}
      <div class="apps" role="group" aria-label="Apps">
        ${Q.map(e=>r`<button ?disabled=${!this.model} @click=${()=>this.open(e)}>
              <b aria-hidden="true">${e.name[0]}</b>${e.name}
            </button>`)}
      </div>
      <div class="surface">
        ${this.desktop.windows.length===0?r`<p class="note muted">
                Open an app: it is made then. Say in its window what should be different.
              </p>`:k}
        ${N([...this.desktop.windows].sort((e,t)=>e.id-t.id),({id:e})=>e,e=>this.window(e))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows.filter(({isMinimised:e})=>e).map(e=>r`<button
                @click=${()=>this.change(D(d(this.desktop,e.id,{isMinimised:!1}),e.id))}
              >
                ${e.app.name}
              </button>`)}
      </div>
    </div>`}window(e){const t=e.draft??M(e.pages)??null,s=this.desktop.windows.indexOf(e);return r`<sf-window
      name=${e.app.name}
      style=${`z-index: ${s+1}`}
      ?hidden=${e.isMinimised}
      ?front=${s===this.desktop.windows.length-1}
      .place=${e.place}
      @sf-place=${({detail:i})=>this.change(d(this.desktop,e.id,{place:i}))}
      @sf-window=${({detail:i})=>this.onWindow(e,i)}
    >
      <form
        @submit=${i=>{i.preventDefault();const n=i.target,o=new FormData(n).get("said");n.reset(),typeof o=="string"&&this.ask(e.id,o)}}
      >
        <input
          name="said"
          aria-label=${`Say what to change in ${e.app.name}`}
          placeholder="Say what to change …"
          autocomplete="off"
        />
        ${e.isWriting?r`<button type="button" @click=${()=>this.stopping.get(e.id)?.abort()}>Stop</button>`:r`<button
                type="button"
                aria-label=${`Undo in ${e.app.name}`}
                ?disabled=${e.pages.at<1}
                @click=${()=>this.change(W(this.desktop,e.id,-1))}
              >
                Undo
              </button>`}
      </form>
      ${t===null?r`<p class="note muted">
              ${e.isWriting?"Writing …":r`${e.error||"Nothing was written."}
                      <button @click=${()=>this.ask(e.id,e.app.sentence)}>Try again</button>`}
            </p>`:r`<sf-screen
              .page=${t}
              ?draft=${e.draft!==null}
              @sf-effect=${({detail:i})=>{e.draft===null&&this.onEffect(e,t,i)}}
            ></sf-screen>`}
    </sf-window>`}};h.styles=[C,_`
      .page {
        display: grid;
        gap: 0.75rem;
        grid-template-columns: minmax(0, 1fr);
      }
      .apps {
        display: flex;
        flex-wrap: wrap;
        gap: 0.5rem;
      }
      .apps button {
        display: grid;
        justify-items: center;
        gap: 0.15rem;
        width: 5.6rem;
        padding: 0.5rem 0.25rem;
      }
      .apps b {
        display: grid;
        place-items: center;
        width: 2.2rem;
        height: 2.2rem;
        border-radius: 10px;
        background: var(--accent);
        color: var(--on-accent);
      }
      .surface {
        position: relative;
        min-height: 70vh;
        border: 1px solid var(--line);
        border-radius: 14px;
        overflow: hidden;
        background:
          radial-gradient(
            circle at 20% 20%,
            color-mix(in oklab, var(--accent) 18%, transparent),
            transparent 60%
          ),
          radial-gradient(
            circle at 80% 80%,
            color-mix(in oklab, var(--warm) 18%, transparent),
            transparent 60%
          ),
          var(--bg);
      }
      form {
        display: flex;
        gap: 0.4rem;
        padding: 0.5rem;
        border-bottom: 1px solid var(--line);
      }
      form input {
        flex: 1;
      }
      .bar {
        display: flex;
        flex-wrap: wrap;
        gap: 0.4rem;
        min-height: 2.4rem;
      }
      .note {
        padding: 0.75rem;
        margin: 0;
      }
      @media (max-width: 40rem) {
        .surface {
          display: grid;
          gap: 0.5rem;
          padding: 0.5rem;
          align-content: start;
        }
      }
    `];f([u()],h.prototype,"place",2);f([S()],h.prototype,"model",2);f([S()],h.prototype,"desktop",2);h=f([L("sf-desktop-page")],h);export{h as DesktopPage};
