import{e as q,i as M,n as C,g as U,A as c,d as a,t as z,c as x,m as W,h as F,b as y,s as g,q as S,r as P,f as V}from"./index-BtolXjW9.js";import{c as v}from"./repeat-wmaXMVvS.js";import{e as I,a as B}from"./canvas-BqwZnn-S.js";import{K as J,W as K,t as w}from"./writing-DYC50BDf.js";import{a as R}from"./files-CTAAkA73.js";import{u as H}from"./keys-DoTgPSuZ.js";import{n as A,c as L,p as N,g as Y}from"./steps-mb0g5HZU.js";import"./offsets-EgNy2a1f.js";import"./canvas-CWvv-g_X.js";import"./answer-DGxee2HY.js";const h="you",k=[["Where to start?","A question from a beginner","What should I know first?"],["What went wrong for me","My worst mistake","A warning"],["What I learnt in ten years","Tips that nobody tells you","How I do it"],["An unpopular opinion","Old or new?","Is it worth the money?"]],Z=["Volcanoes","Growing tomatoes","Moving house","Old radios"];function G(e){return{topic:e,posts:[],next:0,canvas:null}}function X(e){const{topic:t,posts:s,next:i,canvas:o}=e??{};return typeof t!="string"||typeof i!="number"||!Array.isArray(s)||!s.every(Q)?null:{topic:t,posts:s,next:i,canvas:typeof o=="string"?o:null}}function Q(e){const t=e??{},s=[t.title,t.titleBy,t.text,t.by].every(o=>typeof o=="string"),i=[t.id,t.votes,t.yourVote].every(o=>typeof o=="number");return s&&i&&Array.isArray(t.comments)&&t.comments.every(tt)}function tt(e){const{id:t,text:s,by:i}=e??{};return typeof t=="number"&&typeof s=="string"&&typeof i=="string"}function D(e,t,s="last"){const i={...t,id:e.next,votes:0,yourVote:0,comments:[],picture:null},o=s==="first"?[i,...e.posts]:[...e.posts,i];return{...e,next:e.next+1,posts:o}}function et({posts:e}){const t=s=>[...new Set(s.filter(i=>i!==""&&i!==h))];return{titles:t(e.map(({titleBy:s})=>s)),texts:t(e.flatMap(({by:s,comments:i})=>[s,...i.map(o=>o.by)]))}}function st(e,t){return{...e,posts:e.posts.filter(s=>s.id!==t)}}function u(e,t,s){return{...e,posts:e.posts.map(i=>i.id===t?{...i,...s(i)}:i)}}function E(e,t,s,i){const o={id:e.next,text:s,by:i};return{...u(e,t,({comments:n})=>({comments:[...n,o]})),next:e.next+1}}function it(e,t,s){return u(e,t,({comments:i})=>({comments:i.filter(o=>o.id!==s)}))}function ot(e,t,s){return u(e,t,({votes:i,yourVote:o})=>{const r=o===s?0:s;return{votes:i-o+r,yourVote:r}})}function rt({posts:e}){const t=new Set(e.map(({title:s})=>s));return k.map(s=>s.filter(i=>!t.has(i))).filter(s=>s.length>0)}function nt(e,t){const s=({id:i,votes:o,comments:r})=>t==="votes"?o:t==="comments"?r.length:i;return{...e,posts:[...e.posts].sort((i,o)=>s(o)-s(i))}}function at(e){return`List four titles of posts in a forum about ${e}, one on each line, nothing else.`}function lt(e,t){return`You are a member of a forum about ${e}. What would you tell the others under the title "${t}"? Answer in two or three sentences.`}function pt({title:e,text:t,comments:s}){return`${s.at(-1)?.text??[e,t].filter(o=>o!=="").join(`
`)}

What do you think of that? Answer me in one or two sentences.`}function ct(e){const[,t]=/^data:image\/svg\+xml;base64,(.+)$/.exec(e)??[];if(t===void 0)return"";const s=Uint8Array.from(atob(t),o=>o.charCodeAt(0));return new DOMParser().parseFromString(new TextDecoder().decode(s),"image/svg+xml").querySelector("desc")?.textContent??""}var mt=Object.defineProperty,ut=Object.getOwnPropertyDescriptor,O=(e,t,s,i)=>{for(var o=i>1?void 0:i?ut(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(o=(i?n(t,s,o):n(o))||o);return i&&o&&mt(t,s,o),o};let f=class extends U{constructor(){super(...arguments),this.prompt="",this.asset=void 0}render(){const{asset:e}=this;if(e?.status==="ready"&&e.url!==void 0){const t=ct(e.url);return a`<figure>
        <div class="frame ready">
          <img src=${e.url} alt=${t===""?this.prompt:""} />
        </div>
        ${t===""?c:a`<figcaption>${t}</figcaption>`}
      </figure>`}return e?.status==="error"?a`<div class="frame">
        <p>No picture: ${e.error?.message??"it was not made"}</p>
        <button
          aria-label="Make the picture again: ${this.prompt}"
          @click=${()=>this.dispatchEvent(new CustomEvent("sf-again"))}
        >
          Try again
        </button>
      </div>`:a`<div class="frame" role="img" aria-label="A picture is being made: ${this.prompt}">
      <span aria-hidden="true">A picture is being made …</span>
    </div>`}};f.styles=[q,M`
      figure {
        margin: 0;
      }
      .frame {
        aspect-ratio: 16 / 9;
        border-radius: 10px;
        overflow: hidden;
        display: grid;
        place-content: center;
        justify-items: center;
        gap: 0.4rem;
        text-align: center;
        padding: 0;
        font-size: 0.85rem;
        color: var(--muted);
        background: var(--surface-2);
        border: 1px dashed var(--line-strong);
      }
      .ready {
        border-style: solid;
        border-color: var(--line);
      }
      img {
        width: 100%;
        height: 100%;
        object-fit: cover;
        display: block;
        animation: come 400ms ease-out;
      }
      @keyframes come {
        from {
          opacity: 0;
        }
      }
      @media (prefers-reduced-motion: reduce) {
        img {
          animation: none;
        }
      }
      figcaption {
        font-size: 0.75rem;
        color: var(--muted);
        margin-top: 0.2rem;
      }
      p {
        margin: 0;
        padding-inline: 0.75rem;
        overflow-wrap: anywhere;
      }
    `];O([C()],f.prototype,"prompt",2);O([C({attribute:!1})],f.prototype,"asset",2);f=O([z("sf-picture")],f);const dt="640x360";class ht{constructor(t){this.host=t,this.assets=new Map,this.followed=new Map,this.stopping=new AbortController,t.addController(this)}hostConnected(){this.stopping=new AbortController}hostDisconnected(){this.stopping.abort()}find({canvas:t,slot:s}){return this.assets.get(T(t,s))}async ask(t){const{canvas:s,slot:i,prompt:o}=t;this.put(s,[{slot:i,status:"pending"}]);try{await x.addPicture(s,{slot:i,prompt:o,size:dt}),await this.follow(s)}catch(r){this.fail(t,r)}}async open(t){await Promise.all([...new Set(t.map(({canvas:s})=>s))].map(async s=>{const i=t.filter(o=>o.canvas===s);try{await this.follow(s);for(const o of i)this.find(o)===void 0&&this.fail(o,new Error("the server has it no longer"))}catch(o){for(const r of i)this.fail(r,o)}}))}async follow(t){if(this.followed.has(t)){this.followed.set(t,!0);return}const{signal:s}=this.stopping;try{do{this.followed.set(t,!1);let i=I(t);for await(const o of x.follow(t,{signal:s,pictures:!0}))i=B(i,o),this.put(t,[...i.assets.values()])}while(this.followed.get(t)===!0&&!s.aborted)}finally{this.followed.delete(t)}}fail({canvas:t,slot:s},i){this.stopping.signal.aborted||this.put(t,[{slot:s,status:"error",error:{message:W(i)}}])}put(t,s){const i=s.map(o=>[T(t,o.slot),o]);this.assets=new Map([...this.assets,...i]),this.host.requestUpdate()}}function T(e,t){return`${e}/${t}`}async function _(e,t){const s=e.filter(({capabilities:n})=>!n.includes("upstream")),i=s.find(({capabilities:n})=>n.includes("edit")),o=i??s[0];if(o===void 0)return null;const r=i===void 0?{prompt:t,max_tokens:1}:{text:t,spans:[]};return(await x.createCanvas({model:o.id,...r})).id}const ft=M`
  .page {
    display: grid;
    gap: 1rem;
    grid-template-columns: minmax(0, 1fr);
    max-width: 52rem;
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
    margin: 0 0 0.4rem;
    overflow-wrap: anywhere;
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
  }
  .small {
    padding: 0.2rem 0.6rem;
    font-size: 0.875rem;
  }
  .posts,
  .composer {
    display: grid;
    gap: 0.9rem;
    grid-template-columns: minmax(0, 1fr);
  }
  .post {
    display: grid;
    grid-template-columns: auto minmax(0, 1fr);
    gap: 0.75rem;
    padding: 0.9rem 1rem 0.9rem 0.6rem;
  }
  .votes {
    display: grid;
    justify-items: center;
    align-content: start;
    min-width: 2.4rem;
    font-variant-numeric: tabular-nums;
  }
  .votes button {
    padding: 0.1rem 0.5rem;
    color: var(--muted);
  }
  .votes button[aria-pressed="true"] {
    color: var(--accent-text);
    background: var(--surface-2);
    border-color: var(--accent);
  }
  .said {
    display: grid;
    gap: 0.75rem;
    line-height: 1.55;
  }
  .pictured {
    grid-template-columns: minmax(0, 1fr) 14rem;
  }
  .comments {
    list-style: none;
    margin: 0.6rem 0 0.5rem;
    padding: 0;
    font-size: 0.95rem;
  }
  .comments li {
    display: flex;
    flex-wrap: wrap;
    gap: 0 0.6rem;
    align-items: baseline;
    padding: 0.35rem 0 0.35rem 0.75rem;
    border-left: 2px solid var(--line);
  }
  .comments p {
    overflow-wrap: anywhere;
    flex: 0 1 auto;
  }
  .by {
    color: var(--muted);
    font-size: 0.8rem;
  }
  .comments button {
    padding: 0 0.4rem;
  }
  .comment {
    display: flex;
    flex-wrap: wrap;
    gap: 0.4rem;
  }
  .comment input {
    flex: 1 1 9rem;
  }
  .comment :is(input, button) {
    padding: 0.25rem 0.6rem;
    font-size: 0.9rem;
  }
  textarea {
    resize: vertical;
  }
  @media (max-width: 40rem) {
    .pictured {
      grid-template-columns: minmax(0, 1fr);
    }
    .pictured sf-picture {
      max-width: 20rem;
    }
  }
`;var gt=Object.defineProperty,wt=Object.getOwnPropertyDescriptor,d=(e,t,s,i)=>{for(var o=i>1?void 0:i?wt(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(o=(i?n(t,s,o):n(o))||o);return i&&o&&gt(t,s,o),o};const $="/forum",bt=["votes","newest","comments"];let m=class extends U{constructor(){super(...arguments),this.place="",this.steps=A(),this.isComposing=!1,this.problem="",this.kept=new J("forum",X),this.writing=new K(this,"forum"),this.pictures=new ht(this),this.ready=null,this.onKey=e=>{const t=H(e);t===0||this.forum===void 0||(e.preventDefault(),this.move(t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey)}willUpdate(e){e.has("place")&&(this.writing.stop(),this.steps=A(),this.isComposing=!1,this.open(w(this.place)),this.hasUpdated&&this.updateComplete.then(()=>this.mainHeading.focus()))}get forum(){return L(this.steps)}async open(e){const t=()=>e===w(this.place);this.problem="";try{if(await(this.ready??=this.writing.begin()),e===""||!t())return;const s=this.kept.find(e),i=s??await this.addPosts(G(e),k);if(!t())return;this.show(i);const o=i.posts.flatMap(({picture:r})=>r??[]);if(s===null)for(const r of o)this.pictures.ask(r);else this.pictures.open(o);await this.fill(i,s===null)}catch(s){this.ready=null,t()&&(this.problem=F(s)?"It was stopped.":R(s))}}async addPosts(e,t){const{lines:s,by:i,canvas:o}=await this.writing.outline(e.topic,t,at(e.topic)),r=s.filter(p=>!e.posts.some(({title:b})=>b===p)),n=o??e.canvas??await _(this.writing.cards??[],e.topic);let l={...e,canvas:n};for(const p of r)l=j(D(l,{title:p,titleBy:i,text:"",by:""}));return y(`${r.length} posts are there.`),l}async more(){const{forum:e}=this;if(e===void 0)return;const t=this.writing.outliner?.isWriter===!0?k:rt(e);if(t.length===0){g("Every title that the server's models choose from has its post; write one of your own."),this.isComposing=!0;return}try{const s=await this.addPosts(e,t);if(this.forum!==e){g("The forum has changed meanwhile; ask again.");return}this.show(s);const i=s.posts.filter(({id:o})=>o>=e.next);for(const{picture:o}of i)o!==null&&this.pictures.ask(o);await this.fill(s,!0)}catch(s){S(s)}}async fill(e,t){if(this.writing.writer===void 0)return;const s=e.posts.filter(({text:r})=>r==="");await this.writing.write(s.map(r=>this.postJob(e,r)));const i=this.forum;if(!t||i===void 0||i.topic!==e.topic||this.writing.isStopped)return;const o=i.posts.filter(({id:r,text:n,comments:l})=>s.some(p=>p.id===r)&&n!==""&&l.length===0);await this.writing.write(o.map(r=>this.replyJob(i,r)))}postJob({topic:e},{id:t,title:s}){const i=(o,r)=>this.change(e,n=>u(n,t,()=>({text:o,by:r})));return{id:`${e}/${t}`,name:s,prompt:lt(e,s),take:i}}replyJob({topic:e},t){const s=(i,o)=>this.change(e,r=>E(r,t.id,i,o));return{id:`${e}/${t.id}/reply`,name:`Reply to ${t.title}`,prompt:pt(t),take:s}}change(e,t){this.forum?.topic===e&&this.show(t(this.forum))}show(e){this.steps=N(this.steps,e),this.kept.keep(e.topic,e)}move(e){const t=this.steps.at;this.steps=Y(this.steps,e),!(this.forum===void 0||this.steps.at===t)&&(this.kept.keep(this.forum.topic,this.forum),y(e<0?"Undone.":"Done again."))}async addOwn(e,t){t.preventDefault();const s=new FormData(t.target),[i,o]=["title","text"].map(p=>(s.get(p)??"").trim());if(i===void 0||i==="")return;this.isComposing=!1;let n=D(e,{title:i,titleBy:h,text:o??"",by:o===""?"":h},"first");if(s.get("picture")!==null)try{const p=e.canvas??await _(this.writing.cards??[],e.topic);n=j({...n,canvas:p})}catch(p){S(p)}this.show(n),y("Your post is published.");const l=n.posts[0]?.picture??null;l!==null&&await this.pictures.ask(l)}forget(e){const t=this.kept.forget(e);this.requestUpdate();const s=()=>{t(),this.requestUpdate()};g(`“${e}” is deleted.`,{label:"Undo",run:s})}render(){const e=w(this.place);return a`<div class="page">${e===""?this.home():this.topicPage(e)}</div>`}home(){return a`<h1 tabindex="-1">Forum</h1>
      <p class="muted">
        A forum on any topic begins when you open it. Posts say who wrote them; the votes are yours alone.
      </p>
      <sf-topics
        base=${$}
        label="Topic"
        verb="Open"
        .examples=${Z}
        .kept=${this.kept.topics()}
        @sf-forget=${({detail:e})=>this.forget(e)}
      ></sf-topics>
      ${this.writing.notice()}`}topicPage(e){const{forum:t,writing:s}=this;return a`<sf-topics small base=${$} label="Another topic" verb="Open"></sf-topics>
      <div class="row bar">
        <a href=${$}>All forums</a>
        <span class="row">${s.controls("Titles by")}</span>
      </div>
      <h1 tabindex="-1">${e}</h1>
      ${s.notice()} ${t===void 0?this.forming():this.posts(t)}`}forming(){return this.problem!==""?a`<p class="error">${this.problem}</p>
        <div>
          <button class="primary" @click=${()=>void this.open(w(this.place))}>Try again</button>
        </div>`:a`<div class="posts" aria-busy="true">
      ${v(this.writing.outlining??[],e=>e,e=>a`<article class="card post">
            <div></div>
            <div><h2>${e}</h2></div>
          </article>`)}
      <p class="muted">Choosing titles …</p>
    </div>`}posts(e){return a`<div class="row bar">
        <span class="row">
          <button class="primary" aria-expanded=${String(this.isComposing)} @click=${()=>this.compose()}>
            New post
          </button>
          <button ?disabled=${this.writing.isBusy} @click=${()=>void this.more()}>More posts</button>
          <span>
            <button class="small" ?disabled=${this.steps.at<1} title="Ctrl+Z" @click=${()=>this.move(-1)}>
              Undo
            </button>
            <button
              class="small"
              ?disabled=${this.steps.at>=this.steps.all.length-1}
              title="Ctrl+Shift+Z"
              @click=${()=>this.move(1)}
            >
              Redo
            </button>
          </span>
        </span>
        <span class="row" role="group" aria-label="Sort by">
          <span class="muted">Sort by</span>
          ${bt.map(t=>a`<button class="small" @click=${()=>this.show(nt(e,t))}>${t}</button>`)}
        </span>
      </div>
      ${this.isComposing?this.composer(e):c}
      <div class="posts">
        ${v(e.posts,({id:t})=>t,t=>this.post(e,t))}
        ${e.posts.length===0?a`<p class="muted">No post yet; write one, or have more of them written.</p>`:c}
      </div>
      ${this.authors(e)}`}authors(e){const{titles:t,texts:s}=et(e);return t.length+s.length===0?c:a`<p class="figures">
      ${t.length===0?"":`Titles by ${t.join(", ")}.`}
      ${s.length===0?"":`Texts by ${s.join(", ")}.`} Nobody checked them.
    </p>`}compose(){this.isComposing=!this.isComposing,this.updateComplete.then(()=>this.renderRoot.querySelector(".composer input")?.focus())}composer(e){return a`<form
      class="card composer"
      @submit=${t=>void this.addOwn(e,t)}
      @keydown=${t=>{t.key==="Escape"&&(this.isComposing=!1)}}
    >
      <label>Title <input name="title" required maxlength="80" autocomplete="off" /></label>
      <label>Text <textarea name="text" rows="4"></textarea></label>
      <label class="inline"><input type="checkbox" name="picture" /> With a picture of the title</label>
      <div class="row">
        <button class="primary">Post</button>
        <button type="button" @click=${()=>this.isComposing=!1}>Cancel</button>
      </div>
    </form>`}post(e,t){const{topic:s}=e,{id:i,title:o,picture:r}=t,n=(l,p,b)=>a`<button
        class="quiet"
        aria-label="${b}: ${o}"
        aria-pressed=${String(t.yourVote===l)}
        @click=${()=>this.show(ot(e,i,l))}
      >
        ${p}
      </button>`;return a`<article class="card post" aria-label=${o}>
      <div class="votes">
        ${n(1,"▲","Vote up")}<output aria-label="Votes">${t.votes}</output
        >${n(-1,"▼","Vote down")}
      </div>
      <div class="body">
        <h2>${o}</h2>
        <div class="said ${r===null?"":"pictured"}">
          <sf-prose
            name=${o}
            .text=${t.text}
            .by=${t.by}
            .draft=${this.writing.drafts.get(`${s}/${i}`)}
            .problem=${this.writing.problems.get(`${s}/${i}`)??""}
            ?able=${this.writing.writer!==void 0}
            @sf-again=${()=>void this.writing.write([this.postJob(e,t)])}
            @sf-written=${({detail:l})=>this.show(u(e,i,()=>({text:l,by:l===""?"":h})))}
          >
            <button
              class="quiet"
              aria-label="Delete: ${o}"
              @click=${()=>{this.show(st(e,i)),g(`“${o}” is deleted; Undo brings it back.`)}}
            >
              Delete
            </button>
          </sf-prose>
          ${r===null?c:a`<sf-picture
                  prompt=${r.prompt}
                  .asset=${this.pictures.find(r)}
                  @sf-again=${()=>void this.pictures.ask(r)}
                ></sf-picture>`}
        </div>
        ${this.comments(e,t)}
      </div>
    </article>`}comments(e,t){const s=this.replyJob(e,t),i=this.writing.drafts.get(s.id),o=this.writing.problems.get(s.id);return a`<ul class="comments" aria-label="Comments">
        ${v(t.comments,({id:r})=>r,({id:r,text:n,by:l})=>a`<li>
              <p>${n}</p>
              <span class="by">${l}</span>
              <button
                class="quiet"
                aria-label="Delete the comment: ${n.slice(0,40)}"
                @click=${()=>this.show(it(e,t.id,r))}
              >
                ×
              </button>
            </li>`)}
        ${i===void 0?c:a`<li><sf-prose name=${s.name} .draft=${i}></sf-prose></li>`}
      </ul>
      ${o===void 0?c:a`<p class="error">No reply: ${o}</p>`}
      <form
        class="comment"
        @submit=${r=>{r.preventDefault();const n=r.target,l=new FormData(n).get("text").trim();n.reset(),l!==""&&this.show(E(e,t.id,l,h))}}
      >
        <input name="text" aria-label="Comment on ${t.title}" placeholder="Comment …" autocomplete="off" />
        <button aria-label="Send the comment on ${t.title}">Send</button>
        ${this.writing.writer===void 0?c:a`<button
                type="button"
                ?disabled=${i!==void 0}
                aria-label="Have a reply written to ${t.title}"
                @click=${()=>void this.writing.write([s])}
              >
                Reply by ${this.writing.writer.id}
              </button>`}
      </form>`}};m.styles=[q,ft];d([C()],m.prototype,"place",2);d([P()],m.prototype,"steps",2);d([P()],m.prototype,"isComposing",2);d([P()],m.prototype,"problem",2);d([V("h1")],m.prototype,"mainHeading",2);m=d([z("sf-forum-page")],m);function j(e){const{canvas:t,topic:s}=e;return t===null?e:u(e,e.next-1,({id:i,title:o})=>({picture:{canvas:t,slot:`post-${i}`,prompt:`${s}: ${o}`}}))}export{m as ForumPage};
