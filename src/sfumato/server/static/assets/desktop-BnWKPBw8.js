import{v as B,q as H,m as ft,y as T,B as q,x as $,b as Nt,c as Dt,u as z,L as mt,e as Wt,i as _t,o as J,g as Ut,d as g,C as jt,F as Gt,A as N,r as pt}from"./index-CMMe71eo.js";import{c as Yt}from"./repeat-DFZ7HjUn.js";import{o as Jt}from"./style-map-Dfcu4NBq.js";import{t as Vt}from"./canvas-BqwZnn-S.js";import{p as ot,g as Pt,n as rt,c as S,h as Qt}from"./steps-Bb5mR1ze.js";import{p as U,P as at,t as C,n as Zt,a as te,w as ee,i as Z,g as D,s as tt,c as se,N as wt,d as ie,U as ne,o as oe,e as re,M as ae}from"./screen-D9lfN4HQ.js";import{b as he}from"./encyclopedia-BAz1BOUt.js";import{p as ce,k as de,w as le}from"./prose-Dj4Cixse.js";import{M as pe}from"./models-B0BZkP56.js";import{o as ue}from"./other-tab-CS299ns6.js";import{b as fe,i as me,c as we}from"./keys-D98DPntO.js";import"./offsets-EgNy2a1f.js";import"./answer-CwhH4pm4.js";import"./take-R79uc_On.js";import"./live-Cg5bwphB.js";import"./focus-BpYcMQ1a.js";const G={width:240,height:160},gt={width:420,height:440},ge=380,w=16,ve=44,vt=(t,e)=>Math.max(0,Math.min(t,e));function ht({x:t,y:e,width:s,height:i},o){const n={width:Math.min(s,o.width),height:Math.min(i,o.height)};return{x:vt(t,o.width-n.width),y:vt(e,o.height-ve),...n}}function be(t,e){return t.x<e.x+e.width&&e.x<t.x+t.width&&t.y<e.y+e.height&&e.y<t.y+t.height}function Rt(t,e){const s=Math.max(1,Math.floor((e.width-w)/(ge+w))),i=Math.max(G.height,Math.min(gt.height,e.height-2*w)),o=Math.max(1,Math.floor((e.height-w)/(i+w))),n=Math.floor((e.width-w)/s)-w,r=Math.max(G.width,Math.min(gt.width,n)),a=Array.from({length:s*o},(d,u)=>({x:w+u%s*(r+w),y:w+Math.floor(u/s)*(i+w),width:r,height:i})),h=a.find(d=>!t.some(u=>be(d,u)));if(h!==void 0)return h;const[c,p]=[t.length%s,Math.floor(t.length/a.length)%5],l=w+c*(r+w)+24*p;return ht({x:l,y:w+40*p,width:r,height:i},e)}const ct=[{name:"Files",sentence:"",own:"files"},{name:"Terminal",sentence:"",own:"terminal"},{name:"Settings",sentence:"",own:"settings"}],ye=[{name:"Moving",sentence:"a to-do list with eight items about moving house, three done"},{name:"Kitchen",sentence:"a table about cooking with 6 rows, columns name, notes and amount"},{name:"Road trip",sentence:"tasks to check off for a road trip with five items, the first 2 ticked off"},{name:"Savings",sentence:"a to-do list about savings with five items and an input for new ones"},{name:"Podcast",sentence:"a table on a podcast with 4 rows, with the columns name, priority, date"},{name:"Wedding",sentence:"a page where I can enter guest, phone and comment on a wedding"},{name:"Gym",sentence:"a table about the gym with 5 entries, columns name, date and done"},{name:"Music",sentence:"a numbered list about music with 5 things in dark mode"}],bt=40;function xe(t){return t.length<=bt?t:`${t.slice(0,bt).replace(/\s+\S*$/u,"")} …`}function ke(){return{windows:[],next:1}}function qt(t,e,s){const i=t.windows.filter(({isMinimised:r})=>!r),o=Rt(i.map(r=>r.place),s),n={id:t.next,app:e,place:o,isMinimised:!1,pages:rt(),draft:null,isWriting:!1,error:""};return{windows:[...t.windows,n],next:t.next+1}}function I(t){return t.windows.findLast(({isMinimised:e})=>!e)}function b(t,e,s){return{...t,windows:t.windows.map(i=>i.id===e?{...i,...s}:i)}}function yt(t,e){const s=t.windows.find(i=>i.id===e);return s===void 0||t.windows.at(-1)===s?t:{...t,windows:[...t.windows.filter(i=>i!==s),s]}}function xt(t,e){return{...t,windows:t.windows.filter(s=>s.id!==e)}}function X(t,e,s){const i=t.windows.find(o=>o.id===e);return i===void 0?t:b(t,e,{pages:ot(i.pages,s),error:""})}function It(t,e,s){const i=t.windows.find(o=>o.id===e);return i===void 0?t:b(t,e,{pages:Pt(i.pages,s)})}const $e=20;function kt(t){return t.windows.map(({app:e,place:s,isMinimised:i,pages:o})=>{const n=e.own===void 0?Math.max(0,o.at+1-$e):o.at,r=o.all.slice(n,e.own===void 0?void 0:o.at+1);return{app:e,place:s,isMinimised:i,pages:r.map(a=>C(a)),at:o.at-n}})}function Me(t){return Array.isArray(t)&&t.every(e=>typeof e=="string")}function Se(t,e){const[s,i]=[t,e].map(o=>dt(o).windows.map(({app:n,pages:r})=>JSON.stringify([n,r.all.map(a=>C(a)),r.at])).sort().join(`
`));return s===i}function dt(t){let e=ke();for(const s of Array.isArray(t)?t:[]){const{app:i,place:o,isMinimised:n,page:r,pages:a=[r],at:h}=s??{},{name:c,sentence:p,own:l,path:d}=i??{},u=Object.values(o??{});if(!(typeof c!="string"||typeof p!="string"||!Me(a))&&!(a.length===0&&l!==void 0)&&!(u.length!==4||!u.every(Number.isFinite)))try{const m=e.next,M={name:c,sentence:p,...l&&{own:l},...d&&{path:d}},A=a.map(x=>U(x));e=qt(e,M,{width:1e3,height:500});for(const x of A)e=X(e,m,x);typeof h=="number"&&(e=It(e,m,h-(a.length-1))),e=b(e,m,{place:o,isMinimised:n===!0})}catch(m){if(!(m instanceof at))throw m}}return e}class f extends Error{constructor(){super(...arguments),this.name="FileError"}}const $t=60,Kt=60,Mt=2e4,Ee=/^[\p{L}\p{N}_.-](?: ?[\p{L}\p{N}_.,()-]){0,31}$/u,St={files:[{path:"readme.txt",text:`Files stay in this browser.
Open one to edit it, or use the terminal: help lists its commands.
`},{path:"shopping.txt",text:`bread
butter
apples
`},{path:"documents/plan.txt",text:`1. Pack the books
2. Cancel the internet
3. Hire a van
`}],folders:["documents"],trash:[]};function v(t){const e=t.trim().replace(/^\.?\//,"").split("/");if(e.length>2)throw new f(`“${t}” is too deep: folders hold files only, as in documents/plan.txt`);for(const s of e)if(!(Ee.test(s)&&!/^\.+$/.test(s)))throw new f(s===""?"A file needs a name, such as notes.txt":`“${s}” cannot be a name: use up to 32 letters, digits, spaces and . - _ , ( )`);return e.join("/")}const j=t=>t.split("/").slice(0,-1).join("/"),L=t=>t.split("/").at(-1)??"";function y(t,e){return t.files.find(s=>s.path===e)}function Bt(t,e,s){if(y(e,s)!==void 0)return s;const i=t.files.findIndex(o=>o.path===s);return t.files.length===e.files.length?e.files[i]?.path:void 0}function P(t,e,s=t.folders){if(e.length>$t)throw new f(`This desktop holds up to ${$t} files; delete one first`);const i=new Set;for(const{path:r,text:a}of e){if(i.has(r))throw new f(`“${r}” exists already; choose another name`);if(a.length>Mt)throw new f(`“${r}” would have ${a.length} characters; up to ${Mt} fit`);i.add(r)}const o=[...new Set([...s,...e.map(({path:r})=>j(r))])].filter(r=>r!==""),n=o.find(r=>i.has(r));if(n!==void 0)throw new f(`“${n}” exists already; choose another name`);return{...t,files:e,folders:o}}function E(t,e,s){const i=v(e),o=y(t,i)===void 0?[...t.files,{path:i,text:s}]:t.files.map(n=>n.path===i?{path:i,text:s}:n);return P(t,o)}function Ht(t,e){const s=v(e),i=n=>n.path===s||j(n.path)===s,o=t.files.filter(i);if(o.length===0&&!t.folders.includes(s))throw new f(`There is no file “${s}”`);return{files:t.files.filter(n=>!i(n)),folders:t.folders.filter(n=>n!==s),trash:[...o,...t.trash].slice(0,Kt)}}function zt(t,e,s){const[i,o]=[v(e),v(s)];if(y(t,i)===void 0)throw new f(`There is no file “${i}”`);return P(t,t.files.map(n=>n.path===i?{...n,path:o}:n))}function Ae(t,e){const s=v(e);if(j(s)!=="")throw new f("Folders hold files only; make it beside the others");return P(t,t.files,[...t.folders,s])}function Et(t){const{files:e,folders:s,trash:i}=t??{},o=a=>{const{path:h,text:c}=a??{};return typeof h=="string"&&typeof c=="string"};if(!Array.isArray(e)||!e.every(o)||!Array.isArray(s))return St;const n=s.filter(a=>typeof a=="string"),r=Array.isArray(i)?i.filter(o):[];try{return P({files:e,folders:n,trash:r},e)}catch{return St}}const Te=U(`a page: Files
 b header: Files
 c list
 d row
  e input: New file
  f button: Create`);function _(t){const e=new Map,s=(i,o)=>{for(const n of i.children)i.kind==="list"?e.set(n.id,o+n.text):s(n,ut(n)?`${n.text}/`:o)};return s(t,""),e}function ut({kind:t}){return t==="card"}function Oe(t,e,s){const[i,o]=[_(e),_(s)],n=new Set([...i].filter(([l])=>!o.has(l)).map(([,l])=>l)),r=new Map([...i].map(([l,d])=>[d,o.get(l)??d])),a=[...t.files.filter(({path:l})=>n.has(l)),...t.trash],h=t.files.filter(({path:l})=>!n.has(l)).map(({path:l,text:d})=>({path:v(r.get(l)??l),text:d})),c=[...o].filter(([l])=>!i.has(l)).map(([,l])=>({path:v(l),text:a.find(d=>d.path===l)?.text??""})),p=[...ee(s)].filter(ut).map(({text:l})=>v(l));return P({...t,trash:a.slice(0,Kt)},[...h,...c],p)}function Ce(t,e,s){const i=({path:n})=>t.toLowerCase().includes(L(n).toLowerCase());return e.files.some(i)?e.files.filter(({path:n})=>y(s,n)===void 0).filter(n=>!i(n)).map(({path:n})=>n):[]}function lt(t,e=Te){const s=new Map([..._(e)].map(([d,u])=>[u,d])),i=[...Zt(e,t.files.length+2*t.folders.length+1)],o=()=>i.shift()??"",n=(d,u,m=[],M=o())=>({id:M,kind:d,words:[],text:u,cells:[],children:m}),r=(d,u)=>{const m=t.files.map(({path:k})=>k).filter(k=>j(k)===u),M=u===""?"":`${u}/`,A=d.children.filter(({kind:k,text:Q})=>k==="item"&&m.includes(M+Q)),x=m.filter(k=>!A.some(({text:Q})=>M+Q===k));if(x.length===0&&A.length===d.children.length)return d;const Xt=x.map(k=>n("item",L(k),[],s.get(k)));return{...d,children:[...A,...Xt]}},a=(d,u)=>{const m=d.children.find(({kind:x})=>x==="list"),M=r(m??n("list",""),u),A=m===void 0?[...d.children,M]:d.children.map(x=>x===m?M:x);return{...d,children:A}},h=[];let c=!1;const p=new Set(t.folders);for(const d of e.children)d.kind==="list"&&!c?(c=!0,h.push(r(d,""))):ut(d)?p.delete(d.text)&&h.push(a(d,d.text)):h.push(d);c||h.push(r(n("list",""),""));for(const d of p)h.push(a(n("card",d),d));const l=te({...e,children:h});return C(l)===C(e)?e:l}function At(t,e){const[s,i,...o]=t;if(s===void 0||i===void 0||o.length>0)throw new f(`Usage: ${e}`);return[s,i]}function W(t,e){const[s]=t;if(s===void 0||t.length>1)throw new f(`Usage: ${e}`);return s}function Tt(t,e,s){const i=v(s.replace(/\/$/,""));return t.folders.includes(i)?`${i}/${L(e)}`:i}function et(t,e){const s=y(t,v(e));if(s===void 0)throw new f(`There is no file “${e}”; ls lists them`);return s.text}function Le(t,e){const s=e===void 0?"":v(e.replace(/\/$/,""));if(s!==""&&!t.folders.includes(s))throw new f(`There is no folder “${s}”`);const i=t.files.filter(({path:n})=>j(n)===s).map(({path:n})=>L(n));return[...s===""?t.folders.map(n=>`${n}/`):[],...i.sort()].join(`
`)||"Nothing in here."}const Y={ls:{usage:"ls [folder]",does:"list files",run:(t,[e])=>({said:Le(t,e)})},cat:{usage:"cat file",does:"show a file",run:(t,e)=>({said:et(t,W(e,"cat file"))})},echo:{usage:"echo text > file",does:"write a file; >> adds a line to it",run:(t,e)=>({said:e.join(" ")})},touch:{usage:"touch file",does:"make an empty file",run:(t,e)=>{const s=v(W(e,"touch file"));return y(t,s)===void 0?{system:E(t,s,"")}:{}}},mkdir:{usage:"mkdir folder",does:"make a folder",run:(t,e)=>({system:Ae(t,W(e,"mkdir folder"))})},mv:{usage:"mv file file",does:"rename or move a file",run:(t,e)=>{const[s,i]=At(e,"mv file file");return{system:zt(t,s,Tt(t,s,i))}}},cp:{usage:"cp file file",does:"copy a file",run:(t,e)=>{const[s,i]=At(e,"cp file file"),o=Tt(t,s,i);if(y(t,o)!==void 0)throw new f(`“${o}” exists already; choose another name`);return{system:E(t,o,et(t,s))}}},rm:{usage:"rm file",does:"delete a file or a folder",run:(t,e)=>({system:Ht(t,W(e,"rm file").replace(/\/$/,""))})},open:{usage:"open name",does:"open a file or an app in a window",run:(t,e,{apps:s})=>{const i=e.join(" "),o=s.find(n=>n.toLowerCase()===i.toLowerCase());return o===void 0&&et(t,W([i],"open name")),{opens:o??v(i)}}},clicks:{usage:"clicks",does:"show the last clicks, as they were sent",run:(t,e,{clicks:s})=>({said:s.map(i=>JSON.stringify(i)).join(`
`)||"No click yet."})},clear:{usage:"clear",does:"empty the terminal",run:()=>({clears:!0})},help:{usage:"help",does:"show this list",run:()=>({said:Fe()})}};function Fe(){const t=Math.max(...Object.values(Y).map(({usage:s})=>s.length))+2;return[...Object.values(Y).map(({usage:s,does:i})=>s.padEnd(t)+i),"Anything else is passed to a language model."].join(`
`)}const Ne=new Set("bash cd chmod chown curl git grep kill man nano npm pip ps pwd python python3 ssh sudo vi vim wget whoami".split(" "));function st(t){return[...t.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([,e,s,i])=>e??s??i??"")}function De(t,e,s){const[i="",...o]=st(e),n=Object.hasOwn(Y,i)?Y[i]:void 0;if(n===void 0)return Ne.has(i)?{system:t,said:`There is no command ${i}; help lists them.`}:{system:t,said:"",isForModel:!0};try{const r=/^echo\s+(.*?)\s*(>>?)\s*(\S.*)$/s.exec(e.trim());if(r===null)return{system:t,said:"",...n.run(t,o,s)};const[,a="",h,c=""]=r,p=v(st(c).join(" ")),l=h===">>"?y(t,p)?.text??"":"";return{system:E(t,p,`${l}${st(a).join(" ")}
`),said:""}}catch(r){if(!(r instanceof f))throw r;return{system:t,said:`${r.message}.`}}}function K(t,e){return[...t,e].slice(-100)}function We(t){return t.length===0?"Type a command and press Enter; help lists them.":t.flatMap(({line:e,said:s,by:i})=>[`$ ${e}`,...i===""?[]:[`${i} answers:`],s.trimEnd()]).filter(e=>e!=="").join(`
`)}function Ot(t){return(Array.isArray(t)?t:[]).filter(e=>{const{line:s,said:i,by:o}=e??{};return[s,i,o].every(n=>typeof n=="string")})}const it="automatic",_e=U(`a page dark
 b text: Terminal
 c input: Command`),Ue=U(`a page
 b input: Name
 c input: Text
 d button: Delete`),Ct=U(["a page",` b select: Theme | ${mt.theme.join(" | ")}`,` c select: Text size | ${mt.text.join(" | ")}`," d checkbox: Reduce motion"," e divider"," f select: Screens by | automatic"," g slider 16: Steps for a screen"," h select: Answers by | automatic"].join(`
`));function Lt(t){return{author:"",answerer:"",steps:null,...t}}class je{constructor(e){this.host=e,this.system=Et(B("desktop.files",null)),this.clicks=[],this.turns=Ot(B("desktop.terminal",[])),this.choices=Lt(B("desktop.choices",null)),this.texts=new Map,this.typed="",this.drafts=new Map,this.stopping=new Map,this.lastLine=Promise.resolve(),this.asked=0,this.models=new pe(e),H("desktop.files",s=>this.show(Et(s))),H("desktop.choices",s=>this.choices=Lt(s)),H("desktop.terminal",s=>{this.turns=Ot(s),e.requestUpdate()})}get cards(){return this.models.cards}get author(){const e=(this.cards??[]).filter(Z);return e.find(({id:s})=>s===this.choices.author)??e[0]}get canMake(){return this.cards===null||this.author!==void 0}get steps(){return this.choices.steps??void 0}isWriting({own:e,path:s=""}){return(e==="terminal"||e==="file")&&this.drafts.has(s)}stop(e){this.isWriting(e)&&this.stopping.get(e.path??"")?.abort()}page({own:e}){if(e==="files")return lt(this.system);if(e!=="settings")return e==="terminal"?_e:Ue;const s=this.choices.steps??this.author?.sfumato.steps??16,i={d:ft().motion==="reduced"?["on"]:[],g:[String(Math.min(100,s))]},o=Ct.children.map(n=>({...n,words:Object.hasOwn(i,n.id)?i[n.id]:n.words}));return{...Ct,children:o}}bound({own:e,path:s=""},i){const o=this.drafts.get(s);if(e==="files")return Object.fromEntries([..._(i).keys()].map(h=>[h,{opens:!0}]));if(e==="terminal")return{b:{value:We(this.turns)+(o===void 0?"":`
${o}`)},c:{earlier:this.turns.map(({line:c})=>c)}};if(e==="file"){const h=o??y(this.system,s)?.text??"";return{b:{value:s},c:{value:h,isLong:!0,isReadonly:o!==void 0}}}if(e!=="settings")return{};const{theme:n,text:r}=ft(),a=(h,c)=>({options:[it,...h.map(({id:p})=>p)],value:c===""?it:c});return{b:{value:n},c:{value:r},f:a((this.cards??[]).filter(Z),this.choices.author),h:a(this.answerers(),this.choices.answerer)}}click({own:e,path:s=""},i,o){this.clicks=[...this.clicks,o].slice(-8);const{element:n,type:r,value:a}=o;if(e==="files"&&r==="open")this.host.openNamed(_(i).get(n)??a);else if(e==="terminal"&&r==="enter")this.lastLine=this.lastLine.then(()=>this.enter(a)).catch(T);else if(e==="settings"&&r==="choose")n==="b"?q({theme:a}):n==="c"?q({text:a}):this.choose({[n==="f"?"author":"answerer"]:a===it?"":a});else if(e==="file"&&r==="input"&&n==="b")this.attempt(()=>this.change(zt(this.system,s,a)));else if(e==="file"&&r==="input")this.attempt(()=>this.change(E(this.system,s,a),s));else if(e==="file"&&r==="press"){const h=this.system;this.change(Ht(h,s)),this.sayDeleted(h,this.system)}else return!1;return this.host.requestUpdate(),!0}take({own:e},s,i,{sentence:o="",show:n}){if(e==="files"){const[l,d]=[this.system,Oe(this.system,s,i)],[u]=Ce(o,l,d);if(u!==void 0)throw new f(`The model would have changed “${u}”, which you did not name; nothing was done`);n(lt(d,i)),this.change(d),this.sayDeleted(l,d);return}if(n(i),e!=="settings")return;const r=D(i,"theme");r!==D(s,"theme")&&q({theme:r==="dark"?"dark":"light"});const[a,h]=[tt(i,"d"),tt(i,"g")];a!==void 0&&q({motion:D(a,"on")===void 0?"system":"reduced"});const c=h===void 0?void 0:D(h,"value"),p=tt(s,"g");c!==void 0&&(p===void 0||D(p,"value")!==c)&&this.choose({steps:Math.max(1,Number(c))})}async write(e,s){const i=y(this.system,e)?.text??"";try{await this.models.load();const o=this.answererOf(s);if(o===void 0){$(this.refusal());return}const n=o.sfumato.kinds.length>0,r=n||i.trim()===""?s:he(i,s),a=await this.answer(e,o,r,[]),h=n&&i.trim()!==""?`${i.trimEnd()}
${a}
`:`${a}
`;this.change(E(this.system,e,h));const c=()=>this.attempt(()=>this.change(E(this.system,e,i)));$(`Written by ${o.id}. Nobody checked it.`,{label:"Undo",run:c})}catch(o){T(o)}}sayDeleted(e,s){if(s.files.length>=e.files.length)return;const i=e.files.filter(({path:n})=>y(s,n)===void 0),o=()=>{this.change(i.reduce((n,{path:r,text:a})=>E(n,r,a),this.system))};$(`Deleted: ${i.map(({path:n})=>n).join(", ")}.`,{label:"Undo",run:()=>this.attempt(o)})}async enter(e){if(e.trim()==="")return;const s=ct.map(({name:c})=>c),{system:i,said:o,opens:n,clears:r,isForModel:a}=De(this.system,e,{clicks:this.clicks,apps:s}),h=this.system;i!==h&&this.change(i),this.sayDeleted(h,i),r===!0?this.setTurns([]):a===!0?await this.reply(e.trim()):this.setTurns(K(this.turns,{line:e.trim(),said:o,by:""})),n!==void 0&&this.host.openNamed(n)}async reply(e){await this.models.load();const s=this.answererOf(e);if(s===void 0){this.setTurns(K(this.turns,{line:e,said:this.refusal(),by:""}));return}const i=this.turns;this.setTurns(K(i,{line:e,said:"",by:s.id}));const o=i.filter(({by:r})=>r!=="").slice(-3).flatMap(({line:r,said:a})=>[{role:"user",content:r},{role:"assistant",content:a}]);let n="";try{n=await this.answer("",s,e,o)}catch(r){n=this.stopping.get("")?.signal.aborted===!0?"Stopped.":`No answer: ${r.message}.`}this.setTurns(K(i,{line:e,said:n,by:s.id})),Nt(n)}async answer(e,s,i,o){const n=new AbortController;this.stopping.set(e,n);const r=a=>{const h=[...this.drafts].filter(([c])=>c!==e);this.drafts=new Map(a===null?h:[...h,[e,a]]),this.host.requestUpdate()};r("");try{return await ce(Dt,s,i,{turns:o,seed:this.asked++,signal:n.signal,onView:a=>r(Vt(a))})}finally{r(null)}}answerers(){return(this.cards??[]).filter(e=>e.capabilities.includes("chat")&&!Z(e))}answererOf(e){const s=this.answerers();return s.find(({id:i})=>i===this.choices.answerer)??de(s,e)??le(s)[0]}refusal(){const e=this.answerers().find(({sfumato:n})=>n.kinds.length>0),s=(e?.sfumato.kinds??[]).map(({example:n})=>n),[i]=s.sort((n,r)=>n.length-r.length);return`No model on this server can write that.${e===void 0||i===void 0?"":` ${e.id} only answers what it was trained on, such as “${i}”.`} For free text, restart it with a language model: sfumato serve ui smollm2-135m-instruct`}attempt(e){try{e()}catch(s){T(s)}}canUndo(e){return(this.texts.get(e)?.at??0)>0}move(e,s){const i=this.texts.get(e)??rt(),o=Pt(i,s),n=S(o);return o.at===i.at||n===void 0?!1:(this.change(E(this.system,e,n)),this.texts=new Map([...this.texts,[e,o]]),!0)}change(e,s=""){z("desktop.files",e),this.show(e,s)}show(e,s=""){const i=this.system;this.system=e;const o=s!==""&&s===this.typed;this.typed=s,this.texts=new Map(i.files.flatMap(({path:n,text:r})=>{const a=Bt(i,e,n),h=a===void 0?void 0:y(e,a)?.text,c=this.texts.get(n)??ot(rt(),r);if(a===void 0||h===void 0||h===r&&c.at===0)return[];const p=c.at>0&&c.at===c.all.length-1;return[[a,h===r?c:o&&p?Qt(c,h):ot(c,h)]]})),this.host.onFiles(i,e),this.host.requestUpdate()}choose(e){this.choices={...this.choices,...e},z("desktop.choices",this.choices)}setTurns(e){this.turns=e,z("desktop.terminal",e),this.host.requestUpdate()}}var Pe=Object.defineProperty,Re=Object.getOwnPropertyDescriptor,V=(t,e,s,i)=>{for(var o=i>1?void 0:i?Re(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&Pe(e,s,o),o};const Ft=24;let F=class extends Ut{constructor(){super(...arguments),this.name="",this.place={x:0,y:0,width:420,height:420},this.front=!1,this.smaller=null,this.observer=new ResizeObserver(()=>this.requestUpdate())}connectedCallback(){super.connectedCallback(),this.parentElement!==null&&this.observer.observe(this.parentElement)}disconnectedCallback(){super.disconnectedCallback(),this.observer.disconnect()}focus(){this.renderRoot.querySelector("header")?.focus({preventScroll:!0}),this.scrollIntoView({block:this.isStacked?"start":"nearest"})}get isStacked(){return getComputedStyle(this).position==="static"}get shown(){const{clientWidth:t=0,clientHeight:e=0}=this.parentElement??{};return t===0||this.isStacked?this.place:ht(this.place,{width:t,height:e})}updated(){const{x:t,y:e,width:s,height:i}=this.shown;Object.assign(this.style,{left:`${t}px`,top:`${e}px`,width:`${s}px`,height:`${i}px`})}get isFull(){const{clientWidth:t=0,clientHeight:e=0}=this.parentElement??{},{width:s,height:i}=this.shown;return s===t&&i===e}maximise(){const{clientWidth:t=0,clientHeight:e=0}=this.parentElement??{},s={x:0,y:0,width:t,height:e},i=this.isFull?this.smaller??Rt([],s):s;this.smaller=this.isFull?null:this.shown,this.dispatchEvent(new CustomEvent("sf-place",{detail:i,bubbles:!0,composed:!0}))}send(t){this.dispatchEvent(new CustomEvent("sf-window",{detail:t,bubbles:!0,composed:!0}))}change(t){if(this.isStacked)return;const e={...this.shown,...t},{clientWidth:s=0,clientHeight:i=0}=this.parentElement??{},o=t.width===void 0?s:s-e.x,n={width:Math.max(G.width,Math.min(e.width,o)),height:Math.max(G.height,e.height)},r=ht({...e,...n},{width:s,height:i});this.dispatchEvent(new CustomEvent("sf-place",{detail:r,bubbles:!0,composed:!0}))}drag(t,e){if(t.target instanceof HTMLButtonElement&&t.target!==t.currentTarget)return;this.send("front");const[s,i]=[this.shown,t.currentTarget];i.setPointerCapture(t.pointerId);const o=r=>this.change(e({x:r.clientX-t.clientX,y:r.clientY-t.clientY},s));i.addEventListener("pointermove",o);const n=()=>i.removeEventListener("pointermove",o);i.addEventListener("pointerup",n,{once:!0}),i.addEventListener("pointercancel",n,{once:!0})}onKey(t){const e={ArrowLeft:[-1,0],ArrowRight:[1,0],ArrowUp:[0,-1],ArrowDown:[0,1]}[t.key];if(e===void 0||t.target!==t.currentTarget)return;const[s,i]=[(e[0]??0)*Ft,(e[1]??0)*Ft],{x:o,y:n,width:r,height:a}=this.shown;this.change(t.shiftKey?{width:r+s,height:a+i}:{x:o+s,y:n+i}),t.preventDefault()}render(){return g`<header
        tabindex="0"
        role="group"
        aria-label=${`Window ${this.name}: arrows move it, with Shift they resize it`}
        @keydown=${this.onKey}
        @dblclick=${t=>t.target instanceof HTMLButtonElement||this.maximise()}
        @pointerdown=${t=>{this.drag(t,(e,s)=>({x:s.x+e.x,y:s.y+e.y}))}}
      >
        <h2>${this.name}</h2>
        <button class="quiet" aria-label=${`Minimise ${this.name}`} @click=${()=>this.send("minimise")}>
          –
        </button>
        <button class="quiet maximise" aria-label=${`Maximise ${this.name}`} @click=${()=>this.maximise()}>
          □
        </button>
        <button class="quiet" aria-label=${`Close ${this.name}`} @click=${()=>this.send("close")}>✕</button>
      </header>
      <div class="inside" @pointerdown=${()=>this.send("front")}><slot></slot></div>
      <div
        class="corner"
        aria-hidden="true"
        @pointerdown=${t=>{this.drag(t,(e,s)=>({width:s.width+e.x,height:s.height+e.y}))}}
      ></div>`}};F.styles=[Wt,_t`
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
        .corner,
        .maximise {
          display: none;
        }
      }
    `];V([J()],F.prototype,"name",2);V([J({attribute:!1})],F.prototype,"place",2);V([J({type:Boolean})],F.prototype,"front",2);F=V([jt("sf-window")],F);const qe=_t`
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
    min-height: max(30rem, 100dvh - 24rem);
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
  .bar .front {
    border-color: var(--accent);
  }
  .bar .hidden {
    color: var(--muted);
    border-style: dashed;
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
`;var Ie=Object.defineProperty,Ke=Object.getOwnPropertyDescriptor,R=(t,e,s,i)=>{for(var o=i>1?void 0:i?Ke(e,s):e,n=t.length-1,r;n>=0;n--)(r=t[n])&&(o=(i?r(e,s,o):r(o))||o);return i&&o&&Ie(e,s,o),o};const nt="desktop",Be={files:"▤",terminal:">_",settings:"⚙",file:"¶"};let O=class extends Ut{constructor(){super(...arguments),this.place="",this.desktop=dt(B(nt,[])),this.own=new je(this),this.elsewhere=null,this.isDescribed=!1,this.stopping=new Map,this.asked=0,this.focused=null,this.onLooks=()=>this.requestUpdate(),this.onKey=t=>{const e=fe(t),s=I(this.desktop);me(t)&&(t.preventDefault(),this.renderRoot.querySelector(".page > form input")?.focus()),!(e===0||s===void 0)&&(t.preventDefault(),this.go(s,e))}}firstUpdated(){H(nt,t=>this.onKept(t))}connectedCallback(){super.connectedCallback(),addEventListener("keydown",this.onKey),addEventListener("sf-looks",this.onLooks),this.onFiles(this.own.system,this.own.system)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener("keydown",this.onKey),removeEventListener("sf-looks",this.onLooks)}willUpdate(t){super.willUpdate(t),this.focused=this.shadowRoot?.activeElement?.closest("sf-window")??null}updated(t){super.updated(t);const{focused:e}=this;if(this.focused=null,e===null||e.isConnected&&!e.hidden)return;const s=r=>this.renderRoot.querySelector(r),i=I(this.desktop),o=e.isConnected?s(`.bar [data-id="${e.dataset.id??""}"]`):null,n=i===void 0?null:s(`sf-window[data-id="${i.id}"]`);(o??n??s(".apps button"))?.focus()}async enter(t){await this.updateComplete;const e=this.renderRoot.querySelector(`sf-window[data-id="${t}"]`);await e?.updateComplete,this.find(t)?.app.own==="terminal"?e?.querySelector("sf-screen")?.focusField():e?.focus()}bringBack({id:t}){this.change(yt(b(this.desktop,t,{isMinimised:!1}),t)),this.enter(t)}get room(){const{clientWidth:t=0,clientHeight:e=0}=this.renderRoot.querySelector(".surface")??{};return{width:t,height:e}}find(t){return this.desktop.windows.find(e=>e.id===t)}onKept(t){this.elsewhere=Se(t,kt(this.desktop))?null:t}change(t){this.elsewhere=null,this.desktop=t,z(nt,kt(t))}open(t){const e=n=>n.own!==void 0&&n.own===t.own&&n.path===t.path,s=this.desktop.windows.find(n=>e(n.app));if(s!==void 0){this.bringBack(s);return}const i=this.desktop.next,o=qt(this.desktop,t,this.room);this.change(t.own===void 0?o:X(o,i,this.own.page(t))),this.enter(i),t.own===void 0&&this.ask(i,t.sentence)}openNamed(t){const e=ct.find(s=>s.name===t);this.open(e??{name:L(t),sentence:"",own:"file",path:t})}onFiles(t,e){let{desktop:s}=this;for(const{id:i,app:o,pages:n}of s.windows){const r=S(n);if(o.own==="files"&&r!==void 0){const h=lt(e,r);h!==r&&(s=X(s,i,h))}if(o.own!=="file"||o.path===void 0)continue;const a=Bt(t,e,o.path);a===void 0?s=xt(s,i):a!==o.path&&(s=b(s,i,{app:{...o,name:L(a),path:a}}))}s!==this.desktop&&this.change(s)}take(t,e,s=""){const i=this.find(t),o=i===void 0?void 0:S(i.pages),n=r=>this.change(X(this.desktop,t,r));try{return i===void 0||o===void 0?n(e):this.own.take(i.app,o,e,{sentence:s,show:n}),!0}catch(r){return T(r),!1}}takeSaid(t,e,s){const[i,{files:o}]=[this.pageOf(t),this.own.system];if(!this.take(t,e,s))return;const[n,r]=[this.find(t),this.pageOf(t)];if(n===void 0||r===null||this.own.system.files.length<o.length)return;if(i===null){Nt(`${n.app.name} is ready.`);return}const a=()=>{const h=this.find(t),c=h?.pages.all.lastIndexOf(r)??-1;h!==void 0&&c>0&&this.go(h,c-1-h.pages.at)};$(`${n.app.name}: ${se(i,r)||"changed"}.`,{label:"Undo",run:a})}pageOf(t){const e=this.find(t);return e===void 0?null:S(e.pages)??null}go(t,e){if(t.app.own==="file"){Gt(e,this.own.move(t.app.path??"",e));return}const s=It(this.desktop,t.id,e),i=s.windows.find(({id:r})=>r===t.id),[o,n]=[S(t.pages),i===void 0?void 0:S(i.pages)];if(o===n&&$(`There is nothing to ${e<0?"undo":"redo"}.`),!(o===void 0||n===void 0||o===n))try{this.own.take(t.app,o,n,{show:()=>this.change(s)})}catch(r){T(r)}}async ask(t,e){const s=this.find(t);if(s===void 0||s.isWriting||e.trim()===""||this.own.isWriting(s.app))return;if(s.app.own==="file"){await this.own.write(s.app.path??"",e);return}const i=we(e);if(i!==0){this.go(s,i);return}const o=new AbortController;this.stopping.set(t,o);const n=S(s.pages)??null;this.desktop=b(this.desktop,t,{isWriting:!0,error:""});try{await this.own.models.load();const{author:r,steps:a}=this.own;if(r===void 0)throw new wt("No model on this server writes apps.");const h=await ie(Dt,r.id,e,{page:n,steps:a,seed:this.asked++,signal:o.signal,onDraft:c=>this.desktop=b(this.desktop,t,{draft:c})});n!==null&&C(n)===C(h.page)?$(ne):this.takeSaid(t,oe(this.pageOf(t),n,h),e)}catch(r){r instanceof at?$(r.message):r instanceof wt?n===null?this.desktop=b(this.desktop,t,{error:r.message}):$(r.message):o.signal.aborted||(T(r),this.desktop=b(this.desktop,t,{error:n===null?"Nothing was written.":""}))}finally{this.desktop=b(this.desktop,t,{isWriting:!1,draft:null})}}onEffect(t,e,s){const{detail:i}=s;if(i.say!==void 0&&$(i.say),i.ask!==void 0&&this.ask(t.id,i.ask),!(i.program===void 0||i.program===""))try{this.take(t.id,re(e,i.program))||s.preventDefault()}catch(o){s.preventDefault(),T(o instanceof at?ae:o)}}onWindow(t,e){if(e==="close"){this.stopping.get(t.id)?.abort(),this.change(xt(this.desktop,t.id));const s={...t,draft:null,isWriting:!1},i=()=>{this.change({...this.desktop,windows:[...this.desktop.windows,s]}),this.enter(t.id)};t.app.own===void 0&&$(`Closed ${t.app.name}.`,{label:"Undo",run:i})}else e==="minimise"?this.change(b(this.desktop,t.id,{isMinimised:!0})):this.change(yt(this.desktop,t.id))}render(){const{canMake:t}=this.own,e=(s,i)=>g`<button
        class=${s.own===void 0?"":"own"}
        ?disabled=${!i}
        @click=${()=>this.open(s)}
      >
        <b aria-hidden="true">${s.own===void 0?s.name[0]:Be[s.own]}</b>${s.name}
      </button>`;return g`<div class="page">
      <h1>Desktop</h1>
      <p class="muted intro">
        Files, Terminal and Settings are built in. A model writes every other app when you open it, and
        changes it when you say how.
      </p>
      ${t?N:g`<p class="muted">
              No model on this server writes apps; start it with one that does: <code>sfumato serve ui</code>
            </p>`}
      ${this.own.models.failure()}
      <div class="apps" role="group" aria-label="Apps">
        ${ct.map(s=>e(s,!0))} ${ye.map(s=>e(s,t))}
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
      ${this.elsewhere===null?N:ue("Another tab changed the windows; what is changed here next replaces that.",[{label:"Show the other ones",run:()=>this.change(dt(this.elsewhere))},{label:"Keep these",run:()=>this.change(this.desktop)}])}
      <div class="surface">
        ${this.desktop.windows.length===0?g`<p class="note muted">No window is open. Choose an app above, or describe one.</p>`:N}
        ${Yt([...this.desktop.windows].sort((s,i)=>s.id-i.id),({id:s})=>s,s=>this.window(s))}
      </div>
      <div class="bar" role="group" aria-label="Windows">
        ${[...this.desktop.windows].sort((s,i)=>s.id-i.id).map(s=>this.barButton(s))}
      </div>
    </div>`}make(t){const e=xe(t.replace(/^an? /i,""));this.isDescribed=!1,this.open({name:e.charAt(0).toUpperCase()+e.slice(1),sentence:t})}onSentence(t,e,s=!1){if(t.preventDefault(),s)return;const i=t.target,o=new FormData(i).get("said");i.reset(),typeof o=="string"&&o.trim()!==""&&e(o.trim())}window(t){const e=t.draft??S(t.pages)??null,s=this.desktop.windows.indexOf(t);return g`<sf-window
      data-id=${t.id}
      name=${t.app.name}
      style=${Jt({zIndex:s+1})}
      ?hidden=${t.isMinimised}
      ?front=${t===I(this.desktop)}
      .place=${t.place}
      @sf-place=${({detail:i})=>this.change(b(this.desktop,t.id,{place:i}))}
      @sf-window=${({detail:i})=>this.onWindow(t,i)}
    >
      ${this.command(t)} ${e===null?this.unwritten(t):this.screen(t,e)}
    </sf-window>`}barButton(t){const e=t===I(this.desktop);return g`<button
      data-id=${t.id}
      aria-label=${`${e?"Hide":"Show"} ${t.app.name}`}
      class=${e?"front":t.isMinimised?"hidden":""}
      @click=${()=>e?this.onWindow(t,"minimise"):this.bringBack(t)}
    >
      ${t.app.name}
    </button>`}command(t){const e=t.app.own==="file",s=t.isWriting||this.own.isWriting(t.app);if(!e&&!(t.app.own==="terminal"?s:this.own.canMake))return N;const i=()=>{this.stopping.get(t.id)?.abort(),this.own.stop(t.app)};return g`<form
      @submit=${o=>this.onSentence(o,n=>void this.ask(t.id,n),s)}
    >
      ${t.app.own==="terminal"?N:g`<input
              name="said"
              aria-label=${`Say what to ${e?"write":"change"} in ${t.app.name}`}
              placeholder=${e?"Say what to write …":"Say what to change …"}
              autocomplete="off"
            />`}
      ${s?g`<button type="button" @click=${i}>Stop</button>`:g`<button
              type="button"
              aria-label=${`Undo in ${t.app.name}`}
              ?disabled=${e?!this.own.canUndo(t.app.path??""):t.pages.at<1}
              @click=${()=>this.go(t,-1)}
            >
              Undo
            </button>`}
    </form>`}unwritten(t){return g`<p class="note muted">
      ${t.isWriting?"Writing …":g`${t.error||"Nothing was written."}
              <button @click=${()=>this.ask(t.id,t.app.sentence)}>Try again</button>`}
    </p>`}screen(t,e){return g`<sf-screen
      theme=${t.app.own===void 0?"light":"studio"}
      .page=${e}
      .bound=${this.own.bound(t.app,e)}
      ?draft=${t.draft!==null}
      @sf-click=${s=>{(t.draft!==null||this.own.click(t.app,e,s.detail))&&s.preventDefault()}}
      @sf-effect=${s=>this.onEffect(t,e,s)}
    ></sf-screen>`}};O.styles=[Wt,qe];R([J()],O.prototype,"place",2);R([pt()],O.prototype,"desktop",2);R([pt()],O.prototype,"elsewhere",2);R([pt()],O.prototype,"isDescribed",2);O=R([jt("sf-desktop-page")],O);export{O as DesktopPage};
