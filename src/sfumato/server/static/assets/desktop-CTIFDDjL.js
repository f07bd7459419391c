import{s as R,c as tt,l as ot,u as k,v as W,t as x,b as wt,q as K,L as rt,e as vt,i as bt,n as X,g as yt,d as g,w as kt,A as U,r as At}from"./index-B3E5B1W5.js";import{c as Ot}from"./repeat-CMpXvs-E.js";import{t as Lt}from"./canvas-BqwZnn-S.js";import{p as Nt,g as Ft,n as _t,c as E}from"./steps-mb0g5HZU.js";import{p as C,P as xt,t as F,n as jt,c as Ct,w as Dt,a as B,g as L,s as Y,b as Pt,U as Wt,o as Ut,N as It,e as Rt}from"./screen-DSTrYKUr.js";import{b as Kt}from"./encyclopedia-CTZ1cng2.js";import{p as qt,k as zt,w as Xt}from"./prose-BSjtqjvL.js";import{u as Ht,a as Gt}from"./keys-Bvww4gEl.js";import"./offsets-EgNy2a1f.js";import"./answer-UQjbIVjM.js";import"./take-Cb18_Fsc.js";import"./live-DZVJQnX6.js";const et=[{name:"Files",sentence:"",own:"files"},{name:"Terminal",sentence:"",own:"terminal"},{name:"Settings",sentence:"",own:"settings"}],Bt=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}];function Yt(){return{windows:[],next:1}}function $t(e,t,s){const n=Math.min(420,s-32),o=Math.max(1,Math.floor((s-32)/(n+16))),[i,r]=[(e.next-1)%o,Math.floor((e.next-1)/o)%5],a={x:16+i*(n+16)+24*r,y:16+40*r,width:n,height:440},d={id:e.next,app:t,place:a,isMinimised:!1,pages:_t(),draft:null,isWriting:!1,error:""};return{windows:[...e.windows,d],next:e.next+1}}function w(e,t,s){return{...e,windows:e.windows.map(n=>n.id===t?{...n,...s}:n)}}function J(e,t){const s=e.windows.find(n=>n.id===t);return s===void 0||e.windows.at(-1)===s?e:{...e,windows:[...e.windows.filter(n=>n!==s),s]}}function at(e,t){return{...e,windows:e.windows.filter(s=>s.id!==t)}}function q(e,t,s){const n=e.windows.find(o=>o.id===t);return n===void 0?e:w(e,t,{pages:Nt(n.pages,s),error:""})}function Jt(e,t,s){const n=e.windows.find(o=>o.id===t);return n===void 0?e:w(e,t,{pages:Ft(n.pages,s)})}function Vt(e){return e.windows.flatMap(({app:t,place:s,isMinimised:n,pages:o})=>{const i=o.all[o.at];return i===void 0?[]:[{app:t,place:s,isMinimised:n,page:F(i)}]})}function Qt(e){let t=Yt();for(const s of Array.isArray(e)?e:[]){const{app:n,place:o,isMinimised:i,page:r}=s??{},{name:a,sentence:d,own:h,path:u}=n??{},l=Object.values(o??{});if(!(typeof a!="string"||typeof d!="string"||typeof r!="string")&&!(l.length!==4||!l.every(Number.isFinite)))try{const c=t.next,f={name:a,sentence:d,...h&&{own:h},...u&&{path:u}};t=q($t(t,f,1e3),c,C(r)),t=w(t,c,{place:o,isMinimised:i===!0})}catch(c){if(!(c instanceof xt))throw c}}return t}class p extends Error{constructor(){super(...arguments),this.name="FileError"}}const dt=60,Mt=60,ct=2e4,Zt=/^[\p{L}\p{N}_.-](?: ?[\p{L}\p{N}_.,()-]){0,31}$/u,ht={files:[{path:"readme.txt",text:`Files stay in this browser.
Open one to edit it, or use the terminal: help lists its commands.
`},{path:"shopping.txt",text:`bread
butter
apples
`},{path:"documents/plan.txt",text:`1. Pack the books
2. Cancel the internet
3. Hire a van
`}],folders:["documents"],trash:[]};function m(e){const t=e.trim().replace(/^\.?\//,"").split("/");if(t.length>2)throw new p(`“${e}” is too deep: folders hold files only, as in documents/plan.txt`);for(const s of t)if(!(Zt.test(s)&&!/^\.+$/.test(s)))throw new p(s===""?"A file needs a name, such as notes.txt":`“${s}” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )`);return t.join("/")}const D=e=>e.split("/").slice(0,-1).join("/"),S=e=>e.split("/").at(-1)??"";function v(e,t){return e.files.find(s=>s.path===t)}function P(e,t,s=e.folders){if(t.length>dt)throw new p(`This desktop holds up to ${dt} files; delete one first`);const n=new Set;for(const{path:r,text:a}of t){if(n.has(r))throw new p(`“${r}” exists already; choose another name`);if(a.length>ct)throw new p(`“${r}” would have ${a.length} characters; up to ${ct} fit`);n.add(r)}const o=[...new Set([...s,...t.map(({path:r})=>D(r))])].filter(r=>r!==""),i=o.find(r=>n.has(r));if(i!==void 0)throw new p(`“${i}” exists already; choose another name`);return{...e,files:t,folders:o}}function T(e,t,s){const n=m(t),o=v(e,n)===void 0?[...e.files,{path:n,text:s}]:e.files.map(i=>i.path===n?{path:n,text:s}:i);return P(e,o)}function Et(e,t){const s=m(t),n=i=>i.path===s||D(i.path)===s,o=e.files.filter(n);if(o.length===0&&!e.folders.includes(s))throw new p(`There is no file “${s}”`);return{files:e.files.filter(i=>!n(i)),folders:e.folders.filter(i=>i!==s),trash:[...o,...e.trash].slice(0,Mt)}}function Tt(e,t,s){const[n,o]=[m(t),m(s)];if(v(e,n)===void 0)throw new p(`There is no file “${n}”`);return P(e,e.files.map(i=>i.path===n?{...i,path:o}:i))}function te(e,t){const s=m(t);if(D(s)!=="")throw new p("Folders hold files only; make it beside the others");return P(e,e.files,[...e.folders,s])}function ee(e){const{files:t,folders:s,trash:n}=e??{},o=a=>{const{path:d,text:h}=a??{};return typeof d=="string"&&typeof h=="string"};if(!Array.isArray(t)||!t.every(o)||!Array.isArray(s))return ht;const i=s.filter(a=>typeof a=="string"),r=Array.isArray(n)?n.filter(o):[];try{return P({files:t,folders:i,trash:r},t)}catch{return ht}}const se=C(`a page: Files
 b header: Files
 c list
 d row
  e input: New file
  f button: Create`);function _(e){const t=new Map,s=(n,o)=>{for(const i of n.children)n.kind==="list"?t.set(i.id,o+i.text):s(i,nt(i)?`${i.text}/`:o)};return s(e,""),t}function nt({kind:e}){return e==="card"}function ne(e,t,s){const[n,o]=[_(t),_(s)],i=new Set([...n].filter(([l])=>!o.has(l)).map(([,l])=>l)),r=new Map([...n].map(([l,c])=>[c,o.get(l)??c])),a=[...e.files.filter(({path:l})=>i.has(l)),...e.trash],d=e.files.filter(({path:l})=>!i.has(l)).map(({path:l,text:c})=>({path:m(r.get(l)??l),text:c})),h=[...o].filter(([l])=>!n.has(l)).map(([,l])=>({path:m(l),text:a.find(c=>c.path===l)?.text??""})),u=[...Dt(s)].filter(nt).map(({text:l})=>m(l));return P({...e,trash:a.slice(0,Mt)},[...d,...h],u)}function ie(e,t,s){const n=({path:i})=>e.toLowerCase().includes(S(i).toLowerCase());return t.files.some(n)?t.files.filter(({path:i})=>v(s,i)===void 0).filter(i=>!n(i)).map(({path:i})=>i):[]}function st(e,t=se){const s=new Map([..._(t)].map(([c,f])=>[f,c])),n=[...jt(t,e.files.length+2*e.folders.length+1)],o=()=>n.shift()??"",i=(c,f,y=[],$=o())=>({id:$,kind:c,words:[],text:f,cells:[],children:y}),r=(c,f)=>{const y=e.files.map(({path:b})=>b).filter(b=>D(b)===f),$=f===""?"":`${f}/`,O=c.children.filter(({kind:b,text:G})=>b==="item"&&y.includes($+G)),M=y.filter(b=>!O.some(({text:G})=>$+G===b));if(M.length===0&&O.length===c.children.length)return c;const St=M.map(b=>i("item",S(b),[],s.get(b)));return{...c,children:[...O,...St]}},a=(c,f)=>{const y=c.children.find(({kind:M})=>M==="list"),$=r(y??i("list",""),f),O=y===void 0?[...c.children,$]:c.children.map(M=>M===y?$:M);return{...c,children:O}},d=[];let h=!1;const u=new Set(e.folders);for(const c of t.children)c.kind==="list"&&!h?(h=!0,d.push(r(c,""))):nt(c)?u.delete(c.text)&&d.push(a(c,c.text)):d.push(c);h||d.push(r(i("list",""),""));for(const c of u)d.push(a(i("card",c),c));const l=Ct({...t,children:d});return F(l)===F(t)?t:l}function lt(e,t){const[s,n,...o]=e;if(s===void 0||n===void 0||o.length>0)throw new p(`Usage: ${t}`);return[s,n]}function N(e,t){const[s]=e;if(s===void 0||e.length>1)throw new p(`Usage: ${t}`);return s}function pt(e,t,s){const n=m(s.replace(/\/$/,""));return e.folders.includes(n)?`${n}/${S(t)}`:n}function V(e,t){const s=v(e,m(t));if(s===void 0)throw new p(`There is no file “${t}”; ls lists them`);return s.text}function oe(e,t){const s=t===void 0?"":m(t.replace(/\/$/,""));if(s!==""&&!e.folders.includes(s))throw new p(`There is no folder “${s}”`);const n=e.files.filter(({path:i})=>D(i)===s).map(({path:i})=>S(i));return[...s===""?e.folders.map(i=>`${i}/`):[],...n.sort()].join(`
`)||"Nothing in here."}const z={ls:{usage:"ls [folder]",does:"list files",run:(e,[t])=>({said:oe(e,t)})},cat:{usage:"cat file",does:"show a file",run:(e,t)=>({said:V(e,N(t,"cat file"))})},echo:{usage:"echo text > file",does:"write a file; >> adds a line to it",run:(e,t)=>({said:t.join(" ")})},touch:{usage:"touch file",does:"make an empty file",run:(e,t)=>{const s=m(N(t,"touch file"));return v(e,s)===void 0?{system:T(e,s,"")}:{}}},mkdir:{usage:"mkdir folder",does:"make a folder",run:(e,t)=>({system:te(e,N(t,"mkdir folder"))})},mv:{usage:"mv file file",does:"rename or move a file",run:(e,t)=>{const[s,n]=lt(t,"mv file file");return{system:Tt(e,s,pt(e,s,n))}}},cp:{usage:"cp file file",does:"copy a file",run:(e,t)=>{const[s,n]=lt(t,"cp file file"),o=pt(e,s,n);if(v(e,o)!==void 0)throw new p(`“${o}” exists already; choose another name`);return{system:T(e,o,V(e,s))}}},rm:{usage:"rm file",does:"delete a file or a folder",run:(e,t)=>({system:Et(e,N(t,"rm file").replace(/\/$/,""))})},open:{usage:"open name",does:"open a file or an app in a window",run:(e,t,{apps:s})=>{const n=t.join(" "),o=s.find(i=>i.toLowerCase()===n.toLowerCase());return o===void 0&&V(e,N([n],"open name")),{opens:o??m(n)}}},clicks:{usage:"clicks",does:"show the last clicks, as they were sent",run:(e,t,{clicks:s})=>({said:s.map(n=>JSON.stringify(n)).join(`
`)||"No click yet."})},clear:{usage:"clear",does:"empty the terminal",run:()=>({clears:!0})},help:{usage:"help",does:"show this list",run:()=>({said:re()})}};function re(){const e=Math.max(...Object.values(z).map(({usage:s})=>s.length))+2;return[...Object.values(z).map(({usage:s,does:n})=>s.padEnd(e)+n),"Anything else is passed to a language model."].join(`
`)}const ae=new Set("bash cd chmod chown curl git grep kill man nano npm pip ps pwd python python3 ssh sudo vi vim wget whoami".split(" "));function Q(e){return[...e.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([,t,s,n])=>t??s??n??"")}function de(e,t,s){const[n="",...o]=Q(t),i=Object.hasOwn(z,n)?z[n]:void 0;if(i===void 0)return ae.has(n)?{system:e,said:`There is no command ${n}; help lists them.`}:{system:e,said:"",isForModel:!0};try{const r=/^echo\s+(.*?)\s*(>>?)\s*(\S.*)$/s.exec(t.trim());if(r===null)return{system:e,said:"",...i.run(e,o,s)};const[,a="",d,h=""]=r,u=m(Q(h).join(" ")),l=d===">>"?v(e,u)?.text??"":"";return{system:T(e,u,`${l}${Q(a).join(" ")}
`),said:""}}catch(r){if(!(r instanceof p))throw r;return{system:e,said:`${r.message}.`}}}function I(e,t){return[...e,t].slice(-100)}function ce(e){return e.length===0?"Type a command and press Enter; help lists them.":e.flatMap(({line:t,said:s,by:n})=>[`$ ${t}`,...n===""?[]:[`${n} answers:`],s.trimEnd()]).filter(t=>t!=="").join(`
`)}function he(e){return(Array.isArray(e)?e:[]).filter(t=>{const{line:s,said:n,by:o}=t??{};return[s,n,o].every(i=>typeof i=="string")})}const Z="automatic",le=C(`a page dark
 b text: Terminal
 c input: Command`),pe=C(`a page
 b input: Name
 c input: Text
 d button: Delete`),ut=C(["a page",` b select: Theme | ${rt.theme.join(" | ")}`,` c select: Text size | ${rt.text.join(" | ")}`," d checkbox: Reduce motion"," e divider"," f select: Screens by | automatic"," g slider 16: Steps for a screen"," h select: Answers by | automatic"].join(`
`));class ue{constructor(t){this.host=t,this.cards=null,this.system=ee(R("desktop.files",null)),this.clicks=[],this.turns=he(R("desktop.terminal",[])),this.choices={author:"",answerer:"",steps:null,...R("desktop.choices",{})},this.drafts=new Map,this.stopping=new Map,this.lastLine=Promise.resolve(),this.asked=0,t.addController(this)}hostDisconnected(){for(const t of this.stopping.values())t.abort()}async begin(){this.cards=await tt.models(),this.host.requestUpdate()}get author(){const t=B(this.cards??[]);return t.find(({id:s})=>s===this.choices.author)??t[0]}get steps(){return this.choices.steps??void 0}isWriting({own:t,path:s=""}){return(t==="terminal"||t==="file")&&this.drafts.has(s)}stop(t){this.isWriting(t)&&this.stopping.get(t.path??"")?.abort()}page({own:t}){if(t==="files")return st(this.system);if(t!=="settings")return t==="terminal"?le:pe;const s=this.choices.steps??this.author?.sfumato.steps??16,n={d:ot().motion==="reduced"?["on"]:[],g:[String(Math.min(100,s))]},o=ut.children.map(i=>({...i,words:Object.hasOwn(n,i.id)?n[i.id]:i.words}));return{...ut,children:o}}bound({own:t,path:s=""},n){const o=this.drafts.get(s);if(t==="files")return Object.fromEntries([..._(n).keys()].map(d=>[d,{opens:!0}]));if(t==="terminal")return{b:{value:ce(this.turns)+(o===void 0?"":`
${o}`)}};if(t==="file"){const d=o??v(this.system,s)?.text??"";return{b:{value:s},c:{value:d,isLong:!0,isReadonly:o!==void 0}}}const{theme:i,text:r}=ot(),a=(d,h)=>({options:[Z,...d.map(({id:u})=>u)],value:h===""?Z:h});return{b:{value:i},c:{value:r},f:a(B(this.cards??[]),this.choices.author),h:a(this.answerers(),this.choices.answerer)}}click({own:t,path:s=""},n,o){this.clicks=[...this.clicks,o].slice(-8);const{element:i,type:r,value:a}=o;if(t==="files"&&r==="open")this.host.openNamed(_(n).get(i)??a);else if(t==="terminal"&&r==="enter")this.lastLine=this.lastLine.then(()=>this.enter(a)).catch(k);else if(t==="settings"&&r==="choose")i==="b"?W({theme:a}):i==="c"?W({text:a}):this.choose({[i==="f"?"author":"answerer"]:a===Z?"":a});else if(t==="file"&&r==="input"&&i==="b")this.attempt(()=>this.change(Tt(this.system,s,a)));else if(t==="file"&&r==="input")this.attempt(()=>this.change(T(this.system,s,a)));else if(t==="file"&&r==="press"){const d=this.system;this.change(Et(d,s)),this.sayDeleted(d,this.system)}else return!1;return this.host.requestUpdate(),!0}take({own:t},s,n,{sentence:o="",show:i}){if(t==="files"){const[l,c]=[this.system,ne(this.system,s,n)],[f]=ie(o,l,c);if(f!==void 0)throw new p(`The model would have changed “${f}”, which you did not name; nothing was done`);i(st(c,n)),this.change(c),this.sayDeleted(l,c);return}if(i(n),t!=="settings")return;const r=L(n,"theme");r!==L(s,"theme")&&W({theme:r==="dark"?"dark":"light"});const[a,d]=[Y(n,"d"),Y(n,"g")];a!==void 0&&W({motion:L(a,"on")===void 0?"system":"reduced"});const h=d===void 0?void 0:L(d,"value"),u=Y(s,"g");h!==void 0&&(u===void 0||L(u,"value")!==h)&&this.choose({steps:Math.max(1,Number(h))})}async write(t,s){const n=v(this.system,t)?.text??"",o=this.answererOf(s);if(o===void 0){x(this.refusal());return}const i=o.sfumato.kinds.length>0,r=i||n.trim()===""?s:Kt(n,s);try{const a=await this.answer(t,o,r,[]),d=i&&n.trim()!==""?`${n.trimEnd()}
${a}
`:`${a}
`;this.change(T(this.system,t,d));const h=()=>this.attempt(()=>this.change(T(this.system,t,n)));x(`Written by ${o.id}. Nobody checked it.`,{label:"Undo",run:h})}catch(a){k(a)}}sayDeleted(t,s){if(s.files.length>=t.files.length)return;const n=t.files.filter(({path:i})=>v(s,i)===void 0),o=()=>{this.change(n.reduce((i,{path:r,text:a})=>T(i,r,a),this.system))};x(`Deleted: ${n.map(({path:i})=>i).join(", ")}.`,{label:"Undo",run:()=>this.attempt(o)})}async enter(t){if(t.trim()==="")return;const s=et.map(({name:d})=>d),{system:n,said:o,opens:i,clears:r,isForModel:a}=de(this.system,t,{clicks:this.clicks,apps:s});n!==this.system&&this.change(n),r===!0?this.setTurns([]):a===!0?await this.reply(t.trim()):this.setTurns(I(this.turns,{line:t.trim(),said:o,by:""})),i!==void 0&&this.host.openNamed(i)}async reply(t){const s=this.answererOf(t);if(s===void 0){this.setTurns(I(this.turns,{line:t,said:this.refusal(),by:""}));return}const n=this.turns;this.setTurns(I(n,{line:t,said:"",by:s.id}));const o=n.filter(({by:r})=>r!=="").slice(-3).flatMap(({line:r,said:a})=>[{role:"user",content:r},{role:"assistant",content:a}]);let i="";try{i=await this.answer("",s,t,o)}catch(r){i=this.stopping.get("")?.signal.aborted===!0?"Stopped.":`No answer: ${r.message}.`}this.setTurns(I(n,{line:t,said:i,by:s.id})),wt(i)}async answer(t,s,n,o){const i=new AbortController;this.stopping.set(t,i);const r=a=>{const d=[...this.drafts].filter(([h])=>h!==t);this.drafts=new Map(a===null?d:[...d,[t,a]]),this.host.requestUpdate()};r("");try{return await qt(tt,s,n,{turns:o,seed:this.asked++,signal:i.signal,onView:a=>r(Lt(a))})}finally{r(null)}}answerers(){return(this.cards??[]).filter(t=>t.capabilities.includes("chat")&&!B([t]).includes(t))}answererOf(t){const s=this.answerers();return s.find(({id:n})=>n===this.choices.answerer)??zt(s,t)??Xt(s)[0]}refusal(){const t=this.answerers().find(({sfumato:i})=>i.kinds.length>0),s=(t?.sfumato.kinds??[]).map(({example:i})=>i),[n]=s.sort((i,r)=>i.length-r.length);return`No model on this server can write that.${t===void 0||n===void 0?"":` ${t.id} only answers what it was trained on, such as “${n}”.`} For free text, restart it with a language model: sfumato serve ui smollm2-135m-instruct`}attempt(t){try{t()}catch(s){k(s)}}change(t){const s=this.system;this.system=t,K("desktop.files",t),this.host.onFiles(s,t),this.host.requestUpdate()}choose(t){this.choices={...this.choices,...t},K("desktop.choices",this.choices)}setTurns(t){this.turns=t,K("desktop.terminal",t),this.host.requestUpdate()}}var fe=Object.defineProperty,me=Object.getOwnPropertyDescriptor,H=(e,t,s,n)=>{for(var o=n>1?void 0:n?me(t,s):t,i=e.length-1,r;i>=0;i--)(r=e[i])&&(o=(n?r(t,s,o):r(o))||o);return n&&o&&fe(t,s,o),o};const ft=24,mt={width:240,height:160};let A=class extends yt{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1}updated(){const{x:e,y:t,width:s,height:n}=this.place;Object.assign(this.style,{left:`${e}px`,top:`${t}px`,width:`${s}px`,height:`${n}px`})}send(e){this.dispatchEvent(new CustomEvent("sf-window",{detail:e,bubbles:!0,composed:!0}))}change(e){const t={...this.place,...e},s={x:Math.max(0,t.x),y:Math.max(0,t.y),width:Math.max(mt.width,t.width),height:Math.max(mt.height,t.height)};this.dispatchEvent(new CustomEvent("sf-place",{detail:s,bubbles:!0,composed:!0}))}drag(e,t){if(e.target instanceof HTMLButtonElement&&e.target!==e.currentTarget)return;this.send("front");const[s,n]=[this.place,e.currentTarget];n.setPointerCapture(e.pointerId);const o=r=>this.change(t({x:r.clientX-e.clientX,y:r.clientY-e.clientY},s));n.addEventListener("pointermove",o);const i=()=>n.removeEventListener("pointermove",o);n.addEventListener("pointerup",i,{once:!0}),n.addEventListener("pointercancel",i,{once:!0})}onKey(e){const t={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[e.key];if(t===void 0||e.target!==e.currentTarget)return;const[s,n]=[(t[0]??0)*ft,(t[1]??0)*ft],{x:o,y:i,width:r,height:a}=this.place;this.change(e.shiftKey?{width:r+s,height:a+n}:{x:o+s,y:i+n}),e.preventDefault()}render(){return g`<header
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
      ></div>`}};A.styles=[vt,bt`
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
          width: auto !important;
          height: auto !important;
        }
        .corner {
          display: none;
        }
      }
    `];H([X()],A.prototype,"name",2);H([X({attribute:!1})],A.prototype,"place",2);H([X({type:Boolean})],A.prototype,"front",2);A=H([kt("sf-window")],A);const ge=bt`
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
    overflow: hidden;
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
`;var we=Object.defineProperty,ve=Object.getOwnPropertyDescriptor,it=(e,t,s,n)=>{for(var o=n>1?void 0:n?ve(t,s):t,i=e.length-1,r;i>=0;i--)(r=e[i])&&(o=(n?r(t,s,o):r(o))||o);return n&&o&&we(t,s,o),o};const gt="desktop",be=24,ye={files:"▤",terminal:">_",settings:"⚙",file:"¶"};let j=class extends yt{constructor(){super(...arguments),this.place="",this.desktop=Qt(R(gt,[])),this.own=new ue(this),this.stopping=new Map,this.asked=0,this.onLooks=()=>this.requestUpdate(),this.onKey=e=>{const t=Ht(e),s=this.desktop.windows.filter(({isMinimised:n})=>!n).at(-1);t===0||s===void 0||(e.preventDefault(),this.go(s,t))}}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("sf-looks",this.onLooks),this.onFiles(this.own.system,this.own.system),this.own.begin().catch(k)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("sf-looks",this.onLooks);for(const e of this.stopping.values())e.abort()}find(e){return this.desktop.windows.find(t=>t.id===e)}change(e){this.desktop=e,K(gt,Vt(e))}open(e){const t=i=>i.own!==void 0&&i.own===e.own&&i.path===e.path,s=this.desktop.windows.find(i=>t(i.app));if(s!==void 0){this.change(J(w(this.desktop,s.id,{isMinimised:!1}),s.id));return}const n=this.desktop.next,o=$t(this.desktop,e,this.clientWidth);this.change(e.own===void 0?o:q(o,n,this.own.page(e))),e.own===void 0&&this.ask(n,e.sentence)}openNamed(e){const t=et.find(s=>s.name===e);this.open(t??{name:S(e),sentence:"",own:"file",path:e})}onFiles(e,t){let{desktop:s}=this;for(const{id:n,app:o,pages:i}of s.windows){const r=E(i);if(o.own==="files"&&r!==void 0){const h=st(t,r);h!==r&&(s=q(s,n,h))}if(o.own!=="file"||o.path===void 0||v(t,o.path)!==void 0)continue;const a=e.files.findIndex(({path:h})=>h===o.path),d=e.files.length===t.files.length?t.files[a]:void 0;s=d===void 0?at(s,n):w(s,n,{app:{...o,name:S(d.path),path:d.path}})}s!==this.desktop&&this.change(s)}take(e,t,s=""){const n=this.find(e),o=n===void 0?void 0:E(n.pages),i=r=>this.change(q(this.desktop,e,r));try{return n===void 0||o===void 0?i(t):this.own.take(n.app,o,t,{sentence:s,show:i}),!0}catch(r){return k(r),!1}}pageOf(e){const t=this.find(e);return t===void 0?null:E(t.pages)??null}go(e,t){const s=Jt(this.desktop,e.id,t),n=s.windows.find(({id:r})=>r===e.id),[o,i]=[E(e.pages),n===void 0?void 0:E(n.pages)];if(o===i&&x(`There is nothing to ${t<0?"undo":"redo"}.`),!(o===void 0||i===void 0||o===i))try{this.own.take(e.app,o,i,{show:()=>this.change(s)})}catch(r){k(r)}}async ask(e,t){const s=this.find(e);if(s===void 0||s.isWriting||t.trim()===""||this.own.isWriting(s.app))return;if(s.app.own==="file"){await this.own.write(s.app.path??"",t);return}const n=Gt(t);if(n!==0){this.go(s,n);return}const{author:o,steps:i}=this.own;if(o===void 0)return;const r=new AbortController;this.stopping.set(e,r);const a=E(s.pages)??null;this.desktop=w(this.desktop,e,{isWriting:!0,error:""});try{const d=await Pt(tt,o.id,t,{page:a,steps:i,seed:this.asked++,signal:r.signal,onDraft:h=>this.desktop=w(this.desktop,e,{draft:h})});a!==null&&F(a)===F(d.page)?x(Wt):this.take(e,Ut(this.pageOf(e),a,d),t)&&wt(`${s.app.name}: changed.`)}catch(d){d instanceof xt?x(d.message):d instanceof It?a===null?this.desktop=w(this.desktop,e,{error:d.message}):x(d.message):r.signal.aborted||(k(d),this.desktop=w(this.desktop,e,{error:a===null?"Nothing was written.":""}))}finally{this.desktop=w(this.desktop,e,{isWriting:!1,draft:null})}}onEffect(e,t,s){if(s.say!==void 0&&x(s.say),s.ask!==void 0&&this.ask(e.id,s.ask),!(s.program===void 0||s.program===""))try{this.take(e.id,Rt(t,s.program))}catch(n){k(n)}}onWindow(e,t){t==="close"?(this.stopping.get(e.id)?.abort(),this.change(at(this.desktop,e.id))):t==="minimise"?this.change(w(this.desktop,e.id,{isMinimised:!0})):this.change(J(this.desktop,e.id))}render(){const e=this.own.author!==void 0,t=(s,n)=>g`<button
        class=${s.own===void 0?"":"own"}
        ?disabled=${!n}
        @click=${()=>this.open(s)}
      >
        <b aria-hidden="true">${s.own===void 0?s.name[0]:ye[s.own]}</b>${s.name}
      </button>`;return g`<div class="page">
      <h1>Desktop</h1>
      <p class="muted intro">
        Files, Terminal and Settings are built in. A model writes every other app when you open it, and
        changes it when you say how.
      </p>
      ${this.own.cards===null||e?U:g`<p class="muted">
              No model on this server writes apps; start it with one that does: <code>sfumato serve ui</code>
            </p>`}
      <div class="apps" role="group" aria-label="Apps">
        ${et.map(s=>t(s,!0))} ${Bt.map(s=>t(s,e))}
      </div>
      <form @submit=${s=>this.onSentence(s,n=>this.make(n))}>
        <input
          name="said"
          aria-label="Describe an app"
          placeholder="Describe an app: a to-do list about the garden with six items"
          autocomplete="off"
        />
        <button class="primary" ?disabled=${!e}>Make it</button>
      </form>
      <div class="surface">
        ${this.desktop.windows.length===0?g`<p class="note muted">No window is open. Choose an app above, or describe one.</p>`:U}
        ${Ot([...this.desktop.windows].sort((s,n)=>s.id-n.id),({id:s})=>s,s=>this.window(s))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${this.desktop.windows.filter(({isMinimised:s})=>s).map(s=>g`<button
                @click=${()=>this.change(J(w(this.desktop,s.id,{isMinimised:!1}),s.id))}
              >
                ${s.app.name}
              </button>`)}
      </div>
    </div>`}make(e){const t=e.replace(/^an? /i,"").slice(0,be).trim();this.open({name:t.charAt(0).toUpperCase()+t.slice(1),sentence:e})}onSentence(e,t,s=!1){if(e.preventDefault(),s)return;const n=e.target,o=new FormData(n).get("said");n.reset(),typeof o=="string"&&o.trim()!==""&&t(o.trim())}window(e){const t=e.draft??E(e.pages)??null,s=this.desktop.windows.indexOf(e);return g`<sf-window
      name=${e.app.name}
      style=${`z-index: ${s+1}`}
      ?hidden=${e.isMinimised}
      ?front=${s===this.desktop.windows.length-1}
      .place=${e.place}
      @sf-place=${({detail:n})=>this.change(w(this.desktop,e.id,{place:n}))}
      @sf-window=${({detail:n})=>this.onWindow(e,n)}
    >
      ${this.command(e)} ${t===null?this.unwritten(e):this.screen(e,t)}
    </sf-window>`}command(e){const t=e.app.own==="file";if(!t&&this.own.author===void 0)return U;const s=e.isWriting||this.own.isWriting(e.app),n=()=>{this.stopping.get(e.id)?.abort(),this.own.stop(e.app)};return g`<form
      @submit=${o=>this.onSentence(o,i=>void this.ask(e.id,i),s)}
    >
      <input
        name="said"
        aria-label=${`Say what to ${t?"write":"change"} in ${e.app.name}`}
        placeholder=${t?"Say what to write …":"Say what to change …"}
        autocomplete="off"
      />
      ${s?g`<button type="button" @click=${n}>Stop</button>`:t||e.app.own==="terminal"?U:g`<button
                type="button"
                aria-label=${`Undo in ${e.app.name}`}
                ?disabled=${e.pages.at<1}
                @click=${()=>this.go(e,-1)}
              >
                Undo
              </button>`}
    </form>`}unwritten(e){return g`<p class="note muted">
      ${e.isWriting?"Writing …":g`${e.error||"Nothing was written."}
              <button @click=${()=>this.ask(e.id,e.app.sentence)}>Try again</button>`}
    </p>`}screen(e,t){return g`<sf-screen
      .page=${t}
      .bound=${this.own.bound(e.app,t)}
      ?draft=${e.draft!==null}
      @sf-click=${s=>{(e.draft!==null||this.own.click(e.app,t,s.detail))&&s.preventDefault()}}
      @sf-effect=${({detail:s})=>this.onEffect(e,t,s)}
    ></sf-screen>`}};j.styles=[vt,ge];it([X()],j.prototype,"place",2);it([At()],j.prototype,"desktop",2);j=it([kt("sf-desktop-page")],j);export{j as DesktopPage};
