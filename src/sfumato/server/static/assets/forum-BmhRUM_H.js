import{e as T,i as D,o as v,g as B,A as p,d as l,C as E,c as w,n as q,b,x as $,y as x,r as z}from"./index-CMMe71eo.js";import{c as P}from"./repeat-DFZ7HjUn.js";import{e as F,a as I}from"./canvas-BqwZnn-S.js";import{T as V,K as N,W as J,t as R}from"./writing-MmKsNQc3.js";import"./offsets-EgNy2a1f.js";import"./keys-D98DPntO.js";import"./steps-Bb5mR1ze.js";import"./focus-BpYcMQ1a.js";import"./models-B0BZkP56.js";import"./canvas-DwdqAIXd.js";import"./style-map-Dfcu4NBq.js";import"./answer-CwhH4pm4.js";import"./prose-Dj4Cixse.js";const m="you",y=[["Where to start?","A question from a beginner","What should I know first?"],["What went wrong for me","My worst mistake","A warning"],["What I learnt in ten years","Tips that nobody tells you","How I do it"],["An unpopular opinion","Old or new?","Is it worth the money?"]],U=["Volcanoes","Growing tomatoes","Moving house","Old radios"];function L(e){return{topic:e,posts:[],next:0,canvas:null,order:null}}function Y(e){const{topic:t,posts:s,next:i,canvas:o,order:r}=e??{};return typeof t!="string"||typeof i!="number"||!Array.isArray(s)||!s.every(H)?null:{topic:t,posts:s,next:i,canvas:typeof o=="string"?o:null,order:W.find(n=>n===r)??null}}function H(e){const t=e??{},s=[t.title,t.titleBy,t.text,t.by].every(o=>typeof o=="string"),i=[t.id,t.votes,t.yourVote].every(o=>typeof o=="number");return s&&i&&Array.isArray(t.comments)&&t.comments.every(K)}function K(e){const{id:t,text:s,by:i}=e??{};return typeof t=="number"&&typeof s=="string"&&typeof i=="string"}function C(e,t,s="last"){const i={...t,id:e.next,votes:0,yourVote:0,comments:[],picture:null},o=s==="first"?[i,...e.posts]:[...e.posts,i];return{...e,next:e.next+1,posts:o}}function G({posts:e}){const t=s=>[...new Set(s.filter(i=>i!==""&&i!==m))];return{titles:t(e.map(({titleBy:s})=>s)),texts:t(e.flatMap(({by:s,comments:i})=>[s,...i.map(o=>o.by)]))}}function X(e,t,s){return e.posts.some(({id:i})=>i===t.id)?e:{...e,posts:e.posts.toSpliced(s,0,t)}}function Z(e,t){return{...e,posts:e.posts.filter(s=>s.id!==t)}}function u(e,t,s){return{...e,posts:e.posts.map(i=>i.id===t?{...i,...s(i)}:i)}}function k(e,t,s,i){const o={id:e.next,text:s,by:i};return{...u(e,t,({comments:n})=>({comments:[...n,o]})),next:e.next+1}}function Q(e,t,s,i){return u(e,t,({comments:o})=>({comments:o.some(r=>r.id===s.id)?o:o.toSpliced(i,0,s)}))}function tt(e,t,s){return u(e,t,({comments:i})=>({comments:i.filter(o=>o.id!==s)}))}function et(e,t,s){return u(e,t,({votes:i,yourVote:o})=>{const r=o===s?0:s;return{votes:i-o+r,yourVote:r}})}function st({posts:e}){const t=new Set(e.map(({title:s})=>s));return y.map(s=>s.filter(i=>!t.has(i))).filter(s=>s.length>0)}const W=["votes","newest","comments"];function it(e){const{order:t,posts:s}=e;return t!==null&&_(e,t).posts.every((i,o)=>i===s[o])?t:null}function _(e,t){const s=({id:i,votes:o,comments:r})=>t==="votes"?o:t==="comments"?r.length:i;return{...e,order:t,posts:[...e.posts].sort((i,o)=>s(o)-s(i))}}function ot(e){return`List four titles of posts in a forum about ${e}, one on each line, nothing else.`}function rt(e,t){return`You are a member of a forum about ${e}. What would you tell the others under the title "${t}"? Answer in two or three sentences.`}function nt({title:e,text:t,comments:s}){return`${s.at(-1)?.text??[e,t].filter(o=>o!=="").join(`
`)}

What do you think of that? Answer me in one or two sentences.`}function at(e){const[,t]=/^data:image\/svg\+xml;base64,(.+)$/.exec(e)??[];if(t===void 0)return"";const s=Uint8Array.from(atob(t),o=>o.charCodeAt(0));return new DOMParser().parseFromString(new TextDecoder().decode(s),"image/svg+xml").querySelector("desc")?.textContent??""}var lt=Object.defineProperty,ct=Object.getOwnPropertyDescriptor,f=(e,t,s,i)=>{for(var o=i>1?void 0:i?ct(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(o=(i?n(t,s,o):n(o))||o);return i&&o&&lt(t,s,o),o};let d=class extends B{constructor(){super(...arguments),this.prompt="",this.captioned=!1,this.asset=void 0}render(){const{asset:e}=this;if(e?.status==="ready"&&e.url!==void 0){const t=at(e.url);return l`<figure>
        <div class="frame ready">
          <img src=${e.url} alt=${t===""?this.prompt:""} title=${t} />
        </div>
        ${t===""||!this.captioned?p:l`<figcaption>${t}</figcaption>`}
      </figure>`}return e?.status==="error"?l`<div class="frame">
        <p>No picture: ${e.error?.message??"it was not made"}</p>
        <button
          aria-label="Make the picture again: ${this.prompt}"
          @click=${()=>this.dispatchEvent(new CustomEvent("sf-again"))}
        >
          Try again
        </button>
      </div>`:l`<div class="frame" role="img" aria-label="A picture is being made: ${this.prompt}">
      <span aria-hidden="true">A picture is being made …</span>
    </div>`}};d.styles=[T,D`
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
        animation: come calc(var(--motion) * 400ms) ease-out;
      }
      @keyframes come {
        from {
          opacity: 0;
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
    `];f([v()],d.prototype,"prompt",2);f([v({type:Boolean})],d.prototype,"captioned",2);f([v({attribute:!1})],d.prototype,"asset",2);d=f([E("sf-picture")],d);const pt="640x360";class ut{constructor(t){this.host=t,this.assets=new Map,this.followed=new Map}find({canvas:t,slot:s}){return this.assets.get(O(t,s))}async ask(t){const{canvas:s,slot:i,prompt:o}=t;this.put(s,[{slot:i,status:"pending"}]);try{await w.addPicture(s,{slot:i,prompt:o,size:pt}),await this.follow(s)}catch(r){this.fail(t,r)}}async open(t){await Promise.all([...new Set(t.map(({canvas:s})=>s))].map(async s=>{const i=t.filter(o=>o.canvas===s);try{await this.follow(s);for(const o of i)this.find(o)===void 0&&this.fail(o,new Error("the server has it no longer"))}catch(o){for(const r of i)this.fail(r,o)}}))}async follow(t){if(this.followed.has(t)){this.followed.set(t,!0);return}try{do{this.followed.set(t,!1);let s=F(t);for await(const i of w.follow(t,{pictures:!0}))s=I(s,i),this.put(t,[...s.assets.values()])}while(this.followed.get(t)===!0)}finally{this.followed.delete(t)}}fail({canvas:t,slot:s},i){this.put(t,[{slot:s,status:"error",error:{message:q(i)}}])}put(t,s){const i=s.map(o=>[O(t,o.slot),o]);this.assets=new Map([...this.assets,...i]),this.host.requestUpdate()}}function O(e,t){return`${e}/${t}`}async function S(e,t){const s=e.filter(({capabilities:n})=>!n.includes("upstream")),i=s.find(({capabilities:n})=>n.includes("edit")),o=i??s[0];if(o===void 0)return null;const r=i===void 0?{prompt:t,max_tokens:1}:{text:t,spans:[]};return(await w.createCanvas({model:o.id,...r})).id}const dt=D`
  h2 {
    margin: 0 0 0.4rem;
    overflow-wrap: anywhere;
  }
  .small {
    padding: 0.2rem 0.6rem;
    font-size: 0.875rem;
  }
  .small[aria-pressed="true"] {
    color: var(--accent-text);
    border-color: var(--accent);
    font-weight: 600;
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
`;var mt=Object.defineProperty,ht=Object.getOwnPropertyDescriptor,j=(e,t,s,i)=>{for(var o=i>1?void 0:i?ht(t,s):t,r=e.length-1,n;r>=0;r--)(n=e[r])&&(o=(i?n(t,s,o):n(o))||o);return i&&o&&mt(t,s,o),o};const ft="/forum",gt="Open any topic and a forum begins: models write posts and reply to yours. Every post says who wrote it.";let h=class extends V{constructor(){super(...arguments),this.isComposing=!1,this.kept=new N("forum",Y),this.writing=new J(this,"forum"),this.pictures=new ut(this),this.wording={base:ft,title:"Forum",introduction:gt,verb:"Open",examples:U,allPages:"All forums",lines:"Titles"}}willUpdate(e){super.willUpdate(e),e.has("place")&&(this.isComposing=!1)}async openTopic(e,t){const s=this.kept.find(e),i=s??await this.addPosts(L(e),y);if(!t())return;this.show(i);const o=i.posts.flatMap(({picture:r})=>r??[]);if(s===null)for(const r of o)this.pictures.ask(r);else this.pictures.open(o);await this.fill(i,s===null)}async addPosts(e,t){const{lines:s,by:i,canvas:o}=await this.writing.outline(e.topic,t,ot(e.topic)),r=s.filter(a=>!e.posts.some(({title:g})=>g===a)),n=o??e.canvas??await S(this.writing.cards??[],e.topic);let c={...e,canvas:n};for(const a of r)c=A(C(c,{title:a,titleBy:i,text:"",by:""}));return b(`${r.length} posts added.`),c}async more(){const{page:e}=this;if(e===void 0)return;const t=this.writing.outliner?.isWriter===!0?y:st(e);if(t.length===0){$("All suggested titles are in use; write a post of your own."),this.isComposing=!0;return}try{const s=await this.addPosts(e,t);if(this.page!==e){$("The forum changed in the meantime; try again.");return}this.show(s);const i=s.posts.filter(({id:o})=>o>=e.next);for(const{picture:o}of i)o!==null&&this.pictures.ask(o);await this.fill(s,!0)}catch(s){x(s)}}async fill(e,t){if(this.writing.writer===void 0)return;const s=e.posts.filter(({text:r})=>r==="");await this.writing.write(s.map(r=>this.postJob(e,r)));const i=this.page;if(!t||i===void 0||i.topic!==e.topic||this.writing.isStopped)return;const o=i.posts.filter(({id:r,text:n,comments:c})=>s.some(a=>a.id===r)&&n!==""&&c.length===0);await this.writing.write(o.map(r=>this.replyJob(i,r)))}postJob({topic:e},{id:t,title:s}){const i=(o,r)=>this.change(e,n=>u(n,t,()=>({text:o,by:r})));return{id:`${e}/${t}`,name:s,prompt:rt(e,s),take:i}}replyJob({topic:e},t){const s=(i,o)=>this.change(e,r=>k(r,t.id,i,o));return{id:`${e}/${t.id}/reply`,name:`Reply to ${t.title}`,prompt:nt(t),take:s}}async addOwn(e,t){t.preventDefault();const s=new FormData(t.target),[i,o]=["title","text"].map(a=>(s.get(a)??"").trim());if(i===void 0||i==="")return;this.isComposing=!1;let n=C(e,{title:i,titleBy:m,text:o??"",by:o===""?"":m},"first");if(s.get("picture")!==null)try{const a=e.canvas??await S(this.writing.cards??[],e.topic);n=A({...n,canvas:a})}catch(a){x(a)}this.show(n),b("Your post is published.");const c=n.posts[0]?.picture??null;c!==null&&await this.pictures.ask(c)}line(e){return l`<article class="card post">
      <div></div>
      <div><h2>${e}</h2></div>
    </article>`}written(e){const t=it(e),s=e.posts.find(({picture:i})=>i!==null);return l`<div class="row bar">
        <span class="row">
          <button class="primary" aria-expanded=${String(this.isComposing)} @click=${()=>this.compose()}>
            New post
          </button>
          <button ?disabled=${this.writing.isBusy} @click=${()=>void this.more()}>More posts</button>
          ${this.undoButtons()}
        </span>
        <span class="row" role="group" aria-label="Sort by">
          <span class="muted">Sort by</span>
          ${W.map(i=>l`<button
                class="small"
                aria-pressed=${String(i===t)}
                @click=${()=>this.show(_(e,i))}
              >
                ${i}
              </button>`)}
        </span>
      </div>
      ${this.isComposing?this.composer(e):p}
      <div class="posts">
        ${P(e.posts,({id:i})=>i,i=>this.post(e,i,i===s))}
        ${e.posts.length===0?l`<p class="muted">No posts yet. Write one, or ask for more.</p>`:p}
      </div>
      ${this.authors(e)}`}authors(e){const{titles:t,texts:s}=G(e);return t.length+s.length===0?p:l`<p class="figures">
      ${t.length===0?"":`Titles by ${t.join(", ")}.`}
      ${s.length===0?"":`Texts by ${s.join(", ")}.`} Nobody checked them.
    </p>`}compose(){this.isComposing=!this.isComposing,this.updateComplete.then(()=>this.renderRoot.querySelector(".composer input")?.focus())}composer(e){return l`<form
      class="card composer"
      @submit=${t=>void this.addOwn(e,t)}
      @keydown=${t=>{t.key==="Escape"&&(this.isComposing=!1)}}
    >
      <label>Title <input name="title" required maxlength="80" autocomplete="off" /></label>
      <label>Text <textarea name="text" rows="4"></textarea></label>
      <label class="inline"><input type="checkbox" name="picture" /> With a picture</label>
      <div class="row">
        <button class="primary">Post</button>
        <button type="button" @click=${()=>this.isComposing=!1}>Cancel</button>
      </div>
    </form>`}post(e,t,s){const{topic:i}=e,{id:o,title:r,picture:n}=t,c=(a,g,M)=>l`<button
        class="quiet"
        aria-label="${M}: ${r}"
        aria-pressed=${String(t.yourVote===a)}
        @click=${()=>this.show(et(e,o,a))}
      >
        ${g}
      </button>`;return l`<article class="card post" aria-label=${r}>
      <div class="votes">
        ${c(1,"▲","Vote up")}<output aria-label="Votes">${t.votes}</output
        >${c(-1,"▼","Vote down")}
      </div>
      <div class="body">
        <h2>${r}</h2>
        <div class="said ${n===null?"":"pictured"}">
          <sf-prose
            name=${r}
            .text=${t.text}
            .by=${t.by}
            .draft=${this.writing.drafts.get(`${i}/${o}`)}
            .problem=${this.writing.problems.get(`${i}/${o}`)??""}
            ?able=${this.writing.writer!==void 0}
            @sf-again=${()=>void this.writing.write([this.postJob(e,t)])}
            @sf-written=${({detail:a})=>this.show(u(e,o,()=>({text:a,by:a===""?"":m})))}
          >
            <button
              class="quiet remove"
              aria-label="Delete: ${r}"
              @click=${()=>this.removePost(e,t)}
            >
              Delete
            </button>
          </sf-prose>
          ${n===null?p:l`<sf-picture
                  prompt=${n.prompt}
                  ?captioned=${s}
                  .asset=${this.pictures.find(n)}
                  @sf-again=${()=>void this.pictures.ask(n)}
                ></sf-picture>`}
        </div>
        ${this.comments(e,t)}
      </div>
    </article>`}removePost(e,t){const s=e.posts.indexOf(t);this.showWithout(Z(e,t.id),{said:`“${t.title}” is deleted.`,bringBack:i=>X(i,t,s),at:s,selector:".remove",otherwise:"button.primary"})}removeComment(e,{id:t,comments:s},i,o){const r=s.indexOf(i),n={said:"The comment is deleted.",bringBack:a=>Q(a,t,i,r),at:r,selector:".comments button",otherwise:".comment input"},c=o.currentTarget.closest("article")??void 0;this.showWithout(tt(e,t,i.id),n,c)}comments(e,t){const s=this.replyJob(e,t),i=this.writing.drafts.get(s.id),o=this.writing.problems.get(s.id);return l`<ul class="comments" aria-label="Comments">
        ${P(t.comments,({id:r})=>r,r=>l`<li>
              <p>${r.text}</p>
              <span class="by">${r.by}</span>
              <button
                class="quiet"
                aria-label="Delete the comment: ${r.text.slice(0,40)}"
                @click=${n=>this.removeComment(e,t,r,n)}
              >
                ×
              </button>
            </li>`)}
        ${i===void 0?p:l`<li><sf-prose name=${s.name} .draft=${i}></sf-prose></li>`}
      </ul>
      ${o===void 0?p:l`<p class="error">No reply: ${o}</p>`}
      <form
        class="comment"
        @submit=${r=>{r.preventDefault();const n=r.target,c=new FormData(n).get("text").trim();n.reset(),c!==""&&this.show(k(e,t.id,c,m))}}
      >
        <input name="text" aria-label="Comment on ${t.title}" placeholder="Comment …" autocomplete="off" />
        <button aria-label="Send the comment on ${t.title}">Send</button>
        ${this.writing.writer===void 0?p:l`<button
                type="button"
                ?disabled=${i!==void 0}
                aria-label="Have a reply written to ${t.title}"
                @click=${()=>void this.writing.write([s])}
              >
                Reply by ${this.writing.writer.id}
              </button>`}
      </form>`}};h.styles=[T,R,dt];j([z()],h.prototype,"isComposing",2);h=j([E("sf-forum-page")],h);function A(e){const{canvas:t,topic:s}=e;return t===null?e:u(e,e.next-1,({id:i,title:o})=>({picture:{canvas:t,slot:`post-${i}`,prompt:`${s}: ${o}`}}))}export{h as ForumPage};
