import{w as q,n as dt,z as A,C as U,y as M,b as Mt,c as St,v as K,L as ht,e as Et,i as At,p as X,g as Tt,d as v,D as Ot,A as R,s as Ct}from"./index-Bm7Pq4C6.js";import{c as Wt}from"./repeat-yvJ6A4f6.js";import{o as Pt}from"./style-map-D8fTN3M0.js";import{t as Ut}from"./canvas-BqwZnn-S.js";import{p as Rt,g as It,n as qt,c as E}from"./steps-Bb5mR1ze.js";import{p as j,P as it,t as F,n as Kt,a as zt,w as Bt,i as J,g as N,s as Q,c as Ht,N as ct,d as Xt,U as Gt,o as Yt,e as Vt,M as Jt}from"./screen-CxLTDyFu.js";import{b as Qt}from"./encyclopedia-BnbOD_8A.js";import{p as Zt,k as te,w as ee}from"./prose-CYKsteco.js";import{M as se}from"./models-BwJp57lx.js";import{b as ie,i as ne,c as oe}from"./keys-CZ-tQu_d.js";import"./offsets-EgNy2a1f.js";import"./answer-S6R71WQi.js";import"./take-R79uc_On.js";import"./live-DxYlqhgM.js";import"./focus-BpYcMQ1a.js";const B={width:240,height:160},lt={width:420,height:440},re=380,w=16,ae=44,pt=(t,e)=>Math.max(0,Math.min(t,e));function nt({x:t,y:e,width:s,height:i},o){const n={width:Math.min(s,o.width),height:Math.min(i,o.height)};return{x:pt(t,o.width-n.width),y:pt(e,o.height-ae),...n}}function de(t,e){return t.x<e.x+e.width&&e.x<t.x+t.width&&t.y<e.y+e.height&&e.y<t.y+t.height}function he(t,e){const s=Math.max(1,Math.floor((e.width-w)/(re+w))),i=Math.max(B.height,Math.min(lt.height,e.height-2*w)),o=Math.max(1,Math.floor((e.height-w)/(i+w))),n=Math.floor((e.width-w)/s)-w,r=Math.max(B.width,Math.min(lt.width,n)),a=Array.from({length:s*o},(h,p)=>({x:w+p%s*(r+w),y:w+Math.floor(p/s)*(i+w),width:r,height:i})),d=a.find(h=>!t.some(p=>de(h,p)));if(d!==void 0)return d;const[c,u]=[t.length%s,Math.floor(t.length/a.length)%5],l=w+c*(r+w)+24*u;return nt({x:l,y:w+40*u,width:r,height:i},e)}const ot=[{name:"Files",sentence:"",own:"files"},{name:"Terminal",sentence:"",own:"terminal"},{name:"Settings",sentence:"",own:"settings"}],ce=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}],ut=40;function le(t){return t.length<=ut?t:`${t.slice(0,ut).replace(/\s+\S*$/u,"")} …`}function pe(){return{windows:[],next:1}}function Lt(t,e,s){const i=t.windows.filter(({isMinimised:r})=>!r),o=he(i.map(r=>r.place),s),n={id:t.next,app:e,place:o,isMinimised:!1,pages:qt(),draft:null,isWriting:!1,error:""};return{windows:[...t.windows,n],next:t.next+1}}function Z(t){return t.windows.findLast(({isMinimised:e})=>!e)}function b(t,e,s){return{...t,windows:t.windows.map(i=>i.id===e?{...i,...s}:i)}}function ft(t,e){const s=t.windows.find(i=>i.id===e);return s===void 0||t.windows.at(-1)===s?t:{...t,windows:[...t.windows.filter(i=>i!==s),s]}}function mt(t,e){return{...t,windows:t.windows.filter(s=>s.id!==e)}}function z(t,e,s){const i=t.windows.find(o=>o.id===e);return i===void 0?t:b(t,e,{pages:Rt(i.pages,s),error:""})}function Nt(t,e,s){const i=t.windows.find(o=>o.id===e);return i===void 0?t:b(t,e,{pages:It(i.pages,s)})}const ue=20;function fe(t){return t.windows.flatMap(({app:e,place:s,isMinimised:i,pages:o})=>{if(o.at<0)return[];const n=e.own===void 0?Math.max(0,o.at+1-ue):o.at,r=o.all.slice(n,e.own===void 0?void 0:o.at+1);return[{app:e,place:s,isMinimised:i,pages:r.map(a=>F(a)),at:o.at-n}]})}function me(t){return Array.isArray(t)&&t.length>0&&t.every(e=>typeof e=="string")}function we(t){let e=pe();for(const s of Array.isArray(t)?t:[]){const{app:i,place:o,isMinimised:n,page:r,pages:a=[r],at:d}=s??{},{name:c,sentence:u,own:l,path:h}=i??{},p=Object.values(o??{});if(!(typeof c!="string"||typeof u!="string"||!me(a))&&!(p.length!==4||!p.every(Number.isFinite)))try{const m=e.next,$={name:c,sentence:u,...l&&{own:l},...h&&{path:h}},S=a.map(y=>j(y));e=Lt(e,$,{width:1e3,height:500});for(const y of S)e=z(e,m,y);typeof d=="number"&&(e=Nt(e,m,d-(a.length-1))),e=b(e,m,{place:o,isMinimised:n===!0})}catch(m){if(!(m instanceof it))throw m}}return e}class f extends Error{constructor(){super(...arguments),this.name="FileError"}}const wt=60,Dt=60,gt=2e4,ge=/^[\p{L}\p{N}_.-](?: ?[\p{L}\p{N}_.,()-]){0,31}$/u,vt={files:[{path:"readme.txt",text:`Files stay in this browser.
Open one to edit it, or use the terminal: help lists its commands.
`},{path:"shopping.txt",text:`bread
butter
apples
`},{path:"documents/plan.txt",text:`1. Pack the books
2. Cancel the internet
3. Hire a van
`}],folders:["documents"],trash:[]};function g(t){const e=t.trim().replace(/^\.?\//,"").split("/");if(e.length>2)throw new f(`“${t}” is too deep: folders hold files only, as in documents/plan.txt`);for(const s of e)if(!(ge.test(s)&&!/^\.+$/.test(s)))throw new f(s===""?"A file needs a name, such as notes.txt":`“${s}” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )`);return e.join("/")}const W=t=>t.split("/").slice(0,-1).join("/"),O=t=>t.split("/").at(-1)??"";function k(t,e){return t.files.find(s=>s.path===e)}function P(t,e,s=t.folders){if(e.length>wt)throw new f(`This desktop holds up to ${wt} files; delete one first`);const i=new Set;for(const{path:r,text:a}of e){if(i.has(r))throw new f(`“${r}” exists already; choose another name`);if(a.length>gt)throw new f(`“${r}” would have ${a.length} characters; up to ${gt} fit`);i.add(r)}const o=[...new Set([...s,...e.map(({path:r})=>W(r))])].filter(r=>r!==""),n=o.find(r=>i.has(r));if(n!==void 0)throw new f(`“${n}” exists already; choose another name`);return{...t,files:e,folders:o}}function T(t,e,s){const i=g(e),o=k(t,i)===void 0?[...t.files,{path:i,text:s}]:t.files.map(n=>n.path===i?{path:i,text:s}:n);return P(t,o)}function Ft(t,e){const s=g(e),i=n=>n.path===s||W(n.path)===s,o=t.files.filter(i);if(o.length===0&&!t.folders.includes(s))throw new f(`There is no file “${s}”`);return{files:t.files.filter(n=>!i(n)),folders:t.folders.filter(n=>n!==s),trash:[...o,...t.trash].slice(0,Dt)}}function _t(t,e,s){const[i,o]=[g(e),g(s)];if(k(t,i)===void 0)throw new f(`There is no file “${i}”`);return P(t,t.files.map(n=>n.path===i?{...n,path:o}:n))}function ve(t,e){const s=g(e);if(W(s)!=="")throw new f("Folders hold files only; make it beside the others");return P(t,t.files,[...t.folders,s])}function be(t){const{files:e,folders:s,trash:i}=t??{},o=a=>{const{path:d,text:c}=a??{};return typeof d=="string"&&typeof c=="string"};if(!Array.isArray(e)||!e.every(o)||!Array.isArray(s))return vt;const n=s.filter(a=>typeof a=="string"),r=Array.isArray(i)?i.filter(o):[];try{return P({files:e,folders:n,trash:r},e)}catch{return vt}}const ye=j(`a page: Files
 b header: Files
 c list
 d row
  e input: New file
  f button: Create`);function _(t){const e=new Map,s=(i,o)=>{for(const n of i.children)i.kind==="list"?e.set(n.id,o+n.text):s(n,at(n)?`${n.text}/`:o)};return s(t,""),e}function at({kind:t}){return t==="card"}function ke(t,e,s){const[i,o]=[_(e),_(s)],n=new Set([...i].filter(([l])=>!o.has(l)).map(([,l])=>l)),r=new Map([...i].map(([l,h])=>[h,o.get(l)??h])),a=[...t.files.filter(({path:l})=>n.has(l)),...t.trash],d=t.files.filter(({path:l})=>!n.has(l)).map(({path:l,text:h})=>({path:g(r.get(l)??l),text:h})),c=[...o].filter(([l])=>!i.has(l)).map(([,l])=>({path:g(l),text:a.find(h=>h.path===l)?.text??""})),u=[...Bt(s)].filter(at).map(({text:l})=>g(l));return P({...t,trash:a.slice(0,Dt)},[...d,...c],u)}function xe(t,e,s){const i=({path:n})=>t.toLowerCase().includes(O(n).toLowerCase());return e.files.some(i)?e.files.filter(({path:n})=>k(s,n)===void 0).filter(n=>!i(n)).map(({path:n})=>n):[]}function rt(t,e=ye){const s=new Map([..._(e)].map(([h,p])=>[p,h])),i=[...Kt(e,t.files.length+2*t.folders.length+1)],o=()=>i.shift()??"",n=(h,p,m=[],$=o())=>({id:$,kind:h,words:[],text:p,cells:[],children:m}),r=(h,p)=>{const m=t.files.map(({path:x})=>x).filter(x=>W(x)===p),$=p===""?"":`${p}/`,S=h.children.filter(({kind:x,text:V})=>x==="item"&&m.includes($+V)),y=m.filter(x=>!S.some(({text:V})=>$+V===x));if(y.length===0&&S.length===h.children.length)return h;const jt=y.map(x=>n("item",O(x),[],s.get(x)));return{...h,children:[...S,...jt]}},a=(h,p)=>{const m=h.children.find(({kind:y})=>y==="list"),$=r(m??n("list",""),p),S=m===void 0?[...h.children,$]:h.children.map(y=>y===m?$:y);return{...h,children:S}},d=[];let c=!1;const u=new Set(t.folders);for(const h of e.children)h.kind==="list"&&!c?(c=!0,d.push(r(h,""))):at(h)?u.delete(h.text)&&d.push(a(h,h.text)):d.push(h);c||d.push(r(n("list",""),""));for(const h of u)d.push(a(n("card",h),h));const l=zt({...e,children:d});return F(l)===F(e)?e:l}function bt(t,e){const[s,i,...o]=t;if(s===void 0||i===void 0||o.length>0)throw new f(`Usage: ${e}`);return[s,i]}function D(t,e){const[s]=t;if(s===void 0||t.length>1)throw new f(`Usage: ${e}`);return s}function yt(t,e,s){const i=g(s.replace(/\/$/,""));return t.folders.includes(i)?`${i}/${O(e)}`:i}function tt(t,e){const s=k(t,g(e));if(s===void 0)throw new f(`There is no file “${e}”; ls lists them`);return s.text}function $e(t,e){const s=e===void 0?"":g(e.replace(/\/$/,""));if(s!==""&&!t.folders.includes(s))throw new f(`There is no folder “${s}”`);const i=t.files.filter(({path:n})=>W(n)===s).map(({path:n})=>O(n));return[...s===""?t.folders.map(n=>`${n}/`):[],...i.sort()].join(`
`)||"Nothing in here."}const H={ls:{usage:"ls [folder]",does:"list files",run:(t,[e])=>({said:$e(t,e)})},cat:{usage:"cat file",does:"show a file",run:(t,e)=>({said:tt(t,D(e,"cat file"))})},echo:{usage:"echo text > file",does:"write a file; >> adds a line to it",run:(t,e)=>({said:e.join(" ")})},touch:{usage:"touch file",does:"make an empty file",run:(t,e)=>{const s=g(D(e,"touch file"));return k(t,s)===void 0?{system:T(t,s,"")}:{}}},mkdir:{usage:"mkdir folder",does:"make a folder",run:(t,e)=>({system:ve(t,D(e,"mkdir folder"))})},mv:{usage:"mv file file",does:"rename or move a file",run:(t,e)=>{const[s,i]=bt(e,"mv file file");return{system:_t(t,s,yt(t,s,i))}}},cp:{usage:"cp file file",does:"copy a file",run:(t,e)=>{const[s,i]=bt(e,"cp file file"),o=yt(t,s,i);if(k(t,o)!==void 0)throw new f(`“${o}” exists already; choose another name`);return{system:T(t,o,tt(t,s))}}},rm:{usage:"rm file",does:"delete a file or a folder",run:(t,e)=>({system:Ft(t,D(e,"rm file").replace(/\/$/,""))})},open:{usage:"open name",does:"open a file or an app in a window",run:(t,e,{apps:s})=>{const i=e.join(" "),o=s.find(n=>n.toLowerCase()===i.toLowerCase());return o===void 0&&tt(t,D([i],"open name")),{opens:o??g(i)}}},clicks:{usage:"clicks",does:"show the last clicks, as they were sent",run:(t,e,{clicks:s})=>({said:s.map(i=>JSON.stringify(i)).join(`
`)||"No click yet."})},clear:{usage:"clear",does:"empty the terminal",run:()=>({clears:!0})},help:{usage:"help",does:"show this list",run:()=>({said:Me()})}};function Me(){const t=Math.max(...Object.values(H).map(({usage:s})=>s.length))+2;return[...Object.values(H).map(({usage:s,does:i})=>s.padEnd(t)+i),"Anything else is passed to a language model."].join(`
`)}const Se=new Set("bash cd chmod chown curl git grep kill man nano npm pip ps pwd python python3 ssh sudo vi vim wget whoami".split(" "));function et(t){return[...t.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([,e,s,i])=>e??s??i??"")}function Ee(t,e,s){const[i="",...o]=et(e),n=Object.hasOwn(H,i)?H[i]:void 0;if(n===void 0)return Se.has(i)?{system:t,said:`There is no command ${i}; help lists them.`}:{system:t,said:"",isForModel:!0};try{const r=/^echo\s+(.*?)\s*(>>?)\s*(\S.*)$/s.exec(e.trim());if(r===null)return{system:t,said:"",...n.run(t,o,s)};const[,a="",d,c=""]=r,u=g(et(c).join(" ")),l=d===">>"?k(t,u)?.text??"":"";return{system:T(t,u,`${l}${et(a).join(" ")}
`),said:""}}catch(r){if(!(r instanceof f))throw r;return{system:t,said:`${r.message}.`}}}function I(t,e){return[...t,e].slice(-100)}function Ae(t){return t.length===0?"Type a command and press Enter; help lists them.":t.flatMap(({line:e,said:s,by:i})=>[`$ ${e}`,...i===""?[]:[`${i} answers:`],s.trimEnd()]).filter(e=>e!=="").join(`
`)}function Te(t){return(Array.isArray(t)?t:[]).filter(e=>{const{line:s,said:i,by:o}=e??{};return[s,i,o].every(n=>typeof n=="string")})}const st="automatic",Oe=j(`a page dark
 b text: Terminal
 c input: Command`),Ce=j(`a page
 b input: Name
 c input: Text
 d button: Delete`),kt=j(["a page",` b select: Theme | ${ht.theme.join(" | ")}`,` c select: Text size | ${ht.text.join(" | ")}`," d checkbox: Reduce motion"," e divider"," f select: Screens by | automatic"," g slider 16: Steps for a screen"," h select: Answers by | automatic"].join(`
`));class Le{constructor(e){this.host=e,this.system=be(q("desktop.files",null)),this.clicks=[],this.turns=Te(q("desktop.terminal",[])),this.choices={author:"",answerer:"",steps:null,...q("desktop.choices",{})},this.drafts=new Map,this.stopping=new Map,this.lastLine=Promise.resolve(),this.asked=0,e.addController(this),this.models=new se(e)}hostDisconnected(){for(const e of this.stopping.values())e.abort()}get cards(){return this.models.cards}get author(){const e=(this.cards??[]).filter(J);return e.find(({id:s})=>s===this.choices.author)??e[0]}get canMake(){return this.cards===null||this.author!==void 0}get steps(){return this.choices.steps??void 0}isWriting({own:e,path:s=""}){return(e==="terminal"||e==="file")&&this.drafts.has(s)}stop(e){this.isWriting(e)&&this.stopping.get(e.path??"")?.abort()}page({own:e}){if(e==="files")return rt(this.system);if(e!=="settings")return e==="terminal"?Oe:Ce;const s=this.choices.steps??this.author?.sfumato.steps??16,i={d:dt().motion==="reduced"?["on"]:[],g:[String(Math.min(100,s))]},o=kt.children.map(n=>({...n,words:Object.hasOwn(i,n.id)?i[n.id]:n.words}));return{...kt,children:o}}bound({own:e,path:s=""},i){const o=this.drafts.get(s);if(e==="files")return Object.fromEntries([..._(i).keys()].map(d=>[d,{opens:!0}]));if(e==="terminal")return{b:{value:Ae(this.turns)+(o===void 0?"":`
${o}`)}};if(e==="file"){const d=o??k(this.system,s)?.text??"";return{b:{value:s},c:{value:d,isLong:!0,isReadonly:o!==void 0}}}if(e!=="settings")return{};const{theme:n,text:r}=dt(),a=(d,c)=>({options:[st,...d.map(({id:u})=>u)],value:c===""?st:c});return{b:{value:n},c:{value:r},f:a((this.cards??[]).filter(J),this.choices.author),h:a(this.answerers(),this.choices.answerer)}}click({own:e,path:s=""},i,o){this.clicks=[...this.clicks,o].slice(-8);const{element:n,type:r,value:a}=o;if(e==="files"&&r==="open")this.host.openNamed(_(i).get(n)??a);else if(e==="terminal"&&r==="enter")this.lastLine=this.lastLine.then(()=>this.enter(a)).catch(A);else if(e==="settings"&&r==="choose")n==="b"?U({theme:a}):n==="c"?U({text:a}):this.choose({[n==="f"?"author":"answerer"]:a===st?"":a});else if(e==="file"&&r==="input"&&n==="b")this.attempt(()=>this.change(_t(this.system,s,a)));else if(e==="file"&&r==="input")this.attempt(()=>this.change(T(this.system,s,a)));else if(e==="file"&&r==="press"){const d=this.system;this.change(Ft(d,s)),this.sayDeleted(d,this.system)}else return!1;return this.host.requestUpdate(),!0}take({own:e},s,i,{sentence:o="",show:n}){if(e==="files"){const[l,h]=[this.system,ke(this.system,s,i)],[p]=xe(o,l,h);if(p!==void 0)throw new f(`The model would have changed “${p}”, which you did not name; nothing was done`);n(rt(h,i)),this.change(h),this.sayDeleted(l,h);return}if(n(i),e!=="settings")return;const r=N(i,"theme");r!==N(s,"theme")&&U({theme:r==="dark"?"dark":"light"});const[a,d]=[Q(i,"d"),Q(i,"g")];a!==void 0&&U({motion:N(a,"on")===void 0?"system":"reduced"});const c=d===void 0?void 0:N(d,"value"),u=Q(s,"g");c!==void 0&&(u===void 0||N(u,"value")!==c)&&this.choose({steps:Math.max(1,Number(c))})}async write(e,s){const i=k(this.system,e)?.text??"";try{await this.models.load();const o=this.answererOf(s);if(o===void 0){M(this.refusal());return}const n=o.sfumato.kinds.length>0,r=n||i.trim()===""?s:Qt(i,s),a=await this.answer(e,o,r,[]),d=n&&i.trim()!==""?`${i.trimEnd()}
${a}
`:`${a}
`;this.change(T(this.system,e,d));const c=()=>this.attempt(()=>this.change(T(this.system,e,i)));M(`Written by ${o.id}. Nobody checked it.`,{label:"Undo",run:c})}catch(o){A(o)}}sayDeleted(e,s){if(s.files.length>=e.files.length)return;const i=e.files.filter(({path:n})=>k(s,n)===void 0),o=()=>{this.change(i.reduce((n,{path:r,text:a})=>T(n,r,a),this.system))};M(`Deleted: ${i.map(({path:n})=>n).join(", ")}.`,{label:"Undo",run:()=>this.attempt(o)})}async enter(e){if(e.trim()==="")return;const s=ot.map(({name:d})=>d),{system:i,said:o,opens:n,clears:r,isForModel:a}=Ee(this.system,e,{clicks:this.clicks,apps:s});i!==this.system&&this.change(i),r===!0?this.setTurns([]):a===!0?await this.reply(e.trim()):this.setTurns(I(this.turns,{line:e.trim(),said:o,by:""})),n!==void 0&&this.host.openNamed(n)}async reply(e){await this.models.load();const s=this.answererOf(e);if(s===void 0){this.setTurns(I(this.turns,{line:e,said:this.refusal(),by:""}));return}const i=this.turns;this.setTurns(I(i,{line:e,said:"",by:s.id}));const o=i.filter(({by:r})=>r!=="").slice(-3).flatMap(({line:r,said:a})=>[{role:"user",content:r},{role:"assistant",content:a}]);let n="";try{n=await this.answer("",s,e,o)}catch(r){n=this.stopping.get("")?.signal.aborted===!0?"Stopped.":`No answer: ${r.message}.`}this.setTurns(I(i,{line:e,said:n,by:s.id})),Mt(n)}async answer(e,s,i,o){const n=new AbortController;this.stopping.set(e,n);const r=a=>{const d=[...this.drafts].filter(([c])=>c!==e);this.drafts=new Map(a===null?d:[...d,[e,a]]),this.host.requestUpdate()};r("");try{return await Zt(St,s,i,{turns:o,seed:this.asked++,signal:n.signal,onView:a=>r(Ut(a))})}finally{r(null)}}answerers(){return(this.cards??[]).filter(e=>e.capabilities.includes("chat")&&!J(e))}answererOf(e){const s=this.answerers();return s.find(({id:i})=>i===this.choices.answerer)??te(s,e)??ee(s)[0]}refusal(){const e=this.answerers().find(({sfumato:n})=>n.kinds.length>0),s=(e?.sfumato.kinds??[]).map(({example:n})=>n),[i]=s.sort((n,r)=>n.length-r.length);return`No model on this server can write that.${e===void 0||i===void 0?"":` ${e.id} only answers what it was trained on, such as “${i}”.`} For free text, restart it with a language model: sfumato serve ui smollm2-135m-instruct`}attempt(e){try{e()}catch(s){A(s)}}change(e){const s=this.system;this.system=e,K("desktop.files",e),this.host.onFiles(s,e),this.host.requestUpdate()}choose(e){this.choices={...this.choices,...e},K("desktop.choices",this.choices)}setTurns(e){this.turns=e,K("desktop.terminal",e),this.host.requestUpdate()}}var Ne=Object.defineProperty,De=Object.getOwnPropertyDescriptor,G=(t,e,s,i)=>{for(var o=i>1?void 0:i?De(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&Ne(e,s,o),o};const xt=24;let C=class extends Tt{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1,this.observer=new ResizeObserver(()=>this.requestUpdate())}connectedCallback(){super.connectedCallback(),this.parentElement!==null&&this.observer.observe(this.parentElement)}disconnectedCallback(){super.disconnectedCallback(),this.observer.disconnect()}focus(){this.renderRoot.querySelector("header")?.focus({preventScroll:!0}),this.scrollIntoView({block:this.isStacked?"start":"nearest"})}get isStacked(){return getComputedStyle(this).position==="static"}get shown(){const{clientWidth:t=0,clientHeight:e=0}=this.parentElement??{};return t===0||this.isStacked?this.place:nt(this.place,{width:t,height:e})}updated(){const{x:t,y:e,width:s,height:i}=this.shown;Object.assign(this.style,{left:`${t}px`,top:`${e}px`,width:`${s}px`,height:`${i}px`})}send(t){this.dispatchEvent(new CustomEvent("sf-window",{detail:t,bubbles:!0,composed:!0}))}change(t){if(this.isStacked)return;const e={...this.shown,...t},{clientWidth:s=0,clientHeight:i=0}=this.parentElement??{},o=t.width===void 0?s:s-e.x,n={width:Math.max(B.width,Math.min(e.width,o)),height:Math.max(B.height,e.height)},r=nt({...e,...n},{width:s,height:i});this.dispatchEvent(new CustomEvent("sf-place",{detail:r,bubbles:!0,composed:!0}))}drag(t,e){if(t.target instanceof HTMLButtonElement&&t.target!==t.currentTarget)return;this.send("front");const[s,i]=[this.shown,t.currentTarget];i.setPointerCapture(t.pointerId);const o=r=>this.change(e({x:r.clientX-t.clientX,y:r.clientY-t.clientY},s));i.addEventListener("pointermove",o);const n=()=>i.removeEventListener("pointermove",o);i.addEventListener("pointerup",n,{once:!0}),i.addEventListener("pointercancel",n,{once:!0})}onKey(t){const e={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[t.key];if(e===void 0||t.target!==t.currentTarget)return;const[s,i]=[(e[0]??0)*xt,(e[1]??0)*xt],{x:o,y:n,width:r,height:a}=this.shown;this.change(t.shiftKey?{width:r+s,height:a+i}:{x:o+s,y:n+i}),t.preventDefault()}render(){return v`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @pointerdown=${t=>{this.drag(t,(e,s)=>({x:s.x+e.x,y:s.y+e.y}))}}
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
        @pointerdown=${t=>{this.drag(t,(e,s)=>({width:s.width+e.x,height:s.height+e.y}))}}
      ></div>`}};C.styles=[Et,At`
      :host {
        position: absolute;
        display: grid;
        grid-template: auto minmax(0, 1fr) / minmax(0, 1fr);
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
        display: flex;
        flex-direction: column;
        overflow: auto;
        min-height: 0;
      }
      ::slotted(sf-screen) {
        flex: 1 0 auto;
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
        /* One below the other, wherever they were. */
        :host {
          position: static;
          scroll-margin-top: 0.5rem;
          width: auto !important;
          height: auto !important;
        }
        .corner {
          display: none;
        }
      }
    `];G([X()],C.prototype,"name",2);G([X({attribute:!1})],C.prototype,"place",2);G([X({type:Boolean})],C.prototype,"front",2);C=G([Ot("sf-window")],C);const Fe=At`
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
    font-size: 1.1rem;
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
    /* Not hidden: a control that is focused would scroll all windows. */
    overflow: clip;
    background:
      radial-gradient(
        circle at 20% 20%,
        color-mix(in oklab, var(--accent) 18%, transparent),
        transparent 60%
      ),
      radial-gradient(circle at 80% 80%, color-mix(in oklab, var(--warm) 18%, transparent), transparent 60%),
      var(--bg);
  }
  form {
    display: flex;
    gap: 0.4rem;
  }
  form input {
    flex: 1;
  }
  sf-window form {
    padding: 0.5rem;
    border-bottom: 1px solid var(--line);
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
      min-height: 14rem;
      display: grid;
      gap: 0.5rem;
      padding: 0.5rem;
      align-content: start;
    }
  }
`;var _e=Object.defineProperty,je=Object.getOwnPropertyDescriptor,Y=(t,e,s,i)=>{for(var o=i>1?void 0:i?je(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&_e(e,s,o),o};const $t="desktop",We={files:"▤",terminal:">_",settings:"⚙",file:"¶"};let L=class extends Tt{constructor(){super(...arguments),this.place="",this.desktop=we(q($t,[])),this.own=new Le(this),this.isDescribed=!1,this.stopping=new Map,this.asked=0,this.focused=null,this.onLooks=()=>this.requestUpdate(),this.onKey=t=>{const e=ie(t),s=Z(this.desktop);ne(t)&&(t.preventDefault(),this.renderRoot.querySelector(".page > form input")?.focus()),!(e===0||s===void 0)&&(t.preventDefault(),this.go(s,e))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("sf-looks",this.onLooks),this.onFiles(this.own.system,this.own.system)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("sf-looks",this.onLooks);for(const t of this.stopping.values())t.abort()}willUpdate(t){super.willUpdate(t),this.focused=this.shadowRoot?.activeElement?.closest("sf-window")??null}updated(t){super.updated(t);const{focused:e}=this;if(this.focused=null,e===null||e.isConnected&&!e.hidden)return;const s=r=>this.renderRoot.querySelector(r),i=Z(this.desktop),o=e.isConnected?s(`.bar [data-id="${e.dataset.id??""}"]`):null,n=i===void 0?null:s(`sf-window[data-id="${i.id}"]`);(o??n??s(".apps button"))?.focus()}async enter(t){await this.updateComplete;const e=this.renderRoot.querySelector(`sf-window[data-id="${t}"]`);await e?.updateComplete,e?.focus()}bringBack({id:t}){this.change(ft(b(this.desktop,t,{isMinimised:!1}),t)),this.enter(t)}get room(){const{clientWidth:t=0,clientHeight:e=0}=this.renderRoot.querySelector(".surface")??{};return{width:t,height:e}}find(t){return this.desktop.windows.find(e=>e.id===t)}change(t){this.desktop=t,K($t,fe(t))}open(t){const e=n=>n.own!==void 0&&n.own===t.own&&n.path===t.path,s=this.desktop.windows.find(n=>e(n.app));if(s!==void 0){this.bringBack(s);return}const i=this.desktop.next,o=Lt(this.desktop,t,this.room);this.change(t.own===void 0?o:z(o,i,this.own.page(t))),this.enter(i),t.own===void 0&&this.ask(i,t.sentence)}openNamed(t){const e=ot.find(s=>s.name===t);this.open(e??{name:O(t),sentence:"",own:"file",path:t})}onFiles(t,e){let{desktop:s}=this;for(const{id:i,app:o,pages:n}of s.windows){const r=E(n);if(o.own==="files"&&r!==void 0){const c=rt(e,r);c!==r&&(s=z(s,i,c))}if(o.own!=="file"||o.path===void 0||k(e,o.path)!==void 0)continue;const a=t.files.findIndex(({path:c})=>c===o.path),d=t.files.length===e.files.length?e.files[a]:void 0;s=d===void 0?mt(s,i):b(s,i,{app:{...o,name:O(d.path),path:d.path}})}s!==this.desktop&&this.change(s)}take(t,e,s=""){const i=this.find(t),o=i===void 0?void 0:E(i.pages),n=r=>this.change(z(this.desktop,t,r));try{return i===void 0||o===void 0?n(e):this.own.take(i.app,o,e,{sentence:s,show:n}),!0}catch(r){return A(r),!1}}takeSaid(t,e,s){const[i,{files:o}]=[this.pageOf(t),this.own.system];if(!this.take(t,e,s))return;const[n,r]=[this.find(t),this.pageOf(t)];if(n===void 0||r===null||this.own.system.files.length<o.length)return;if(i===null){Mt(`${n.app.name} is ready.`);return}const a=()=>{const d=this.find(t),c=d?.pages.all.lastIndexOf(r)??-1;d!==void 0&&c>0&&this.go(d,c-1-d.pages.at)};M(`${n.app.name}: ${Ht(i,r)||"changed"}.`,{label:"Undo",run:a})}pageOf(t){const e=this.find(t);return e===void 0?null:E(e.pages)??null}go(t,e){const s=Nt(this.desktop,t.id,e),i=s.windows.find(({id:r})=>r===t.id),[o,n]=[E(t.pages),i===void 0?void 0:E(i.pages)];if(o===n&&M(`There is nothing to ${e<0?"undo":"redo"}.`),!(o===void 0||n===void 0||o===n))try{this.own.take(t.app,o,n,{show:()=>this.change(s)})}catch(r){A(r)}}async ask(t,e){const s=this.find(t);if(s===void 0||s.isWriting||e.trim()===""||this.own.isWriting(s.app))return;if(s.app.own==="file"){await this.own.write(s.app.path??"",e);return}const i=oe(e);if(i!==0){this.go(s,i);return}const o=new AbortController;this.stopping.set(t,o);const n=E(s.pages)??null;this.desktop=b(this.desktop,t,{isWriting:!0,error:""});try{await this.own.models.load();const{author:r,steps:a}=this.own;if(r===void 0)throw new ct("No model on this server writes apps.");const d=await Xt(St,r.id,e,{page:n,steps:a,seed:this.asked++,signal:o.signal,onDraft:c=>this.desktop=b(this.desktop,t,{draft:c})});n!==null&&F(n)===F(d.page)?M(Gt):this.takeSaid(t,Yt(this.pageOf(t),n,d),e)}catch(r){r instanceof it?M(r.message):r instanceof ct?n===null?this.desktop=b(this.desktop,t,{error:r.message}):M(r.message):o.signal.aborted||(A(r),this.desktop=b(this.desktop,t,{error:n===null?"Nothing was written.":""}))}finally{this.desktop=b(this.desktop,t,{isWriting:!1,draft:null})}}onEffect(t,e,s){if(s.say!==void 0&&M(s.say),s.ask!==void 0&&this.ask(t.id,s.ask),!(s.program===void 0||s.program===""))try{this.take(t.id,Vt(e,s.program))}catch(i){A(i instanceof it?Jt:i)}}onWindow(t,e){e==="close"?(this.stopping.get(t.id)?.abort(),this.change(mt(this.desktop,t.id))):e==="minimise"?this.change(b(this.desktop,t.id,{isMinimised:!0})):this.change(ft(this.desktop,t.id))}render(){const{canMake:t}=this.own,e=(s,i)=>v`<button
        class=${s.own===void 0?"":"own"}
        ?disabled=${!i}
        @click=${()=>this.open(s)}
      >
        <b aria-hidden="true">${s.own===void 0?s.name[0]:We[s.own]}</b>${s.name}
      </button>`;return v`<div class="page">
      <h1>Desktop</h1>
      <p class="muted intro">
        Files, Terminal and Settings are built in. A model writes every other app when you open it, and
        changes it when you say how.
      </p>
      ${t?R:v`<p class="muted">
              No model on this server writes apps; start it with one that does: <code>sfumato serve ui</code>
            </p>`}
      ${this.own.models.failure()}
      <div class="apps" role="group" aria-label="Apps">
        ${ot.map(s=>e(s,!0))} ${ce.map(s=>e(s,t))}
      </div>
      <form @submit=${s=>this.onSentence(s,i=>this.make(i))}>
        <input
          name="said"
          aria-label="Describe an app"
          placeholder="Describe an app: a to-do list about the garden with six items"
          autocomplete="off"
          @input=${s=>this.isDescribed=s.target.value.trim()!==""}
        />
        <button class="primary" ?disabled=${!t||!this.isDescribed}>Make it</button>
      </form>
      <div class="surface">
        ${this.desktop.windows.length===0?v`<p class="note muted">No window is open. Choose an app above, or describe one.</p>`:R}
        ${Wt([...this.desktop.windows].sort((s,i)=>s.id-i.id),({id:s})=>s,s=>this.window(s))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows.filter(({isMinimised:s})=>s).map(s=>v`<button data-id=${s.id} @click=${()=>this.bringBack(s)}>${s.app.name}</button>`)}
      </div>
    </div>`}make(t){const e=le(t.replace(/^an? /i,""));this.isDescribed=!1,this.open({name:e.charAt(0).toUpperCase()+e.slice(1),sentence:t})}onSentence(t,e,s=!1){if(t.preventDefault(),s)return;const i=t.target,o=new FormData(i).get("said");i.reset(),typeof o=="string"&&o.trim()!==""&&e(o.trim())}window(t){const e=t.draft??E(t.pages)??null,s=this.desktop.windows.indexOf(t);return v`<sf-window
      data-id=${t.id}
      name=${t.app.name}
      style=${Pt({zIndex:s+1})}
      ?hidden=${t.isMinimised}
      ?front=${t===Z(this.desktop)}
      .place=${t.place}
      @sf-place=${({detail:i})=>this.change(b(this.desktop,t.id,{place:i}))}
      @sf-window=${({detail:i})=>this.onWindow(t,i)}
    >
      ${this.command(t)} ${e===null?this.unwritten(t):this.screen(t,e)}
    </sf-window>`}command(t){const e=t.app.own==="file";if(!e&&!this.own.canMake)return R;const s=t.isWriting||this.own.isWriting(t.app),i=()=>{this.stopping.get(t.id)?.abort(),this.own.stop(t.app)};return v`<form
      @submit=${o=>this.onSentence(o,n=>void this.ask(t.id,n),s)}
    >
      <input
        name="said"
        aria-label=${`Say what to ${e?"write":"change"} in ${t.app.name}`}
        placeholder=${e?"Say what to write …":"Say what to change …"}
        autocomplete="off"
      />
      ${s?v`<button type="button" @click=${i}>Stop</button>`:e||t.app.own==="terminal"?R:v`<button
                type="button"
                aria-label=${`Undo in ${t.app.name}`}
                ?disabled=${t.pages.at<1}
                @click=${()=>this.go(t,-1)}
              >
                Undo
              </button>`}
    </form>`}unwritten(t){return v`<p class="note muted">
      ${t.isWriting?"Writing …":v`${t.error||"Nothing was written."}
              <button @click=${()=>this.ask(t.id,t.app.sentence)}>Try again</button>`}
    </p>`}screen(t,e){return v`<sf-screen
      theme=${t.app.own===void 0?"light":"studio"}
      .page=${e}
      .bound=${this.own.bound(t.app,e)}
      ?draft=${t.draft!==null}
      @sf-click=${s=>{(t.draft!==null||this.own.click(t.app,e,s.detail))&&s.preventDefault()}}
      @sf-effect=${({detail:s})=>this.onEffect(t,e,s)}
    ></sf-screen>`}};L.styles=[Et,Fe];Y([X()],L.prototype,"place",2);Y([Ct()],L.prototype,"desktop",2);Y([Ct()],L.prototype,"isDescribed",2);L=Y([Ot("sf-desktop-page")],L);export{L as DesktopPage};
