/** The themes of screens: each has its surfaces and its shades of the ten colours. */
import { css } from "lit";

export const themes = css`
  .page {
    --red: #b3261e;
    --orange: #a8480b;
    --yellow: #7a5b00;
    --green: #1b7045;
    --blue: #1d5fbf;
    --purple: #6b3fb0;
    --pink: #b0286f;
    --grey: #5f5b68;
    --black: #17141c;
    --white: #ffffff;
    --page: #ffffff;
    --raised: #f6f3f9;
    --ink: #211d2b;
    --soft: #625b70;
    --edge: #ddd7e4;
    --edge-strong: #8f879e;
    --key: #5b3fa0;
    --on-color: #ffffff;
    --chip: #4a4458;
    color-scheme: light;
  }
  .theme-dark {
    --red: #ff9d94;
    --orange: #f5a974;
    --yellow: #e6c65c;
    --green: #74d6a4;
    --blue: #8fbcff;
    --purple: #c4aef5;
    --pink: #f5a3cd;
    --grey: #b5aec2;
    --black: #000000;
    --white: #ffffff;
    --page: #17151d;
    --raised: #211e2a;
    --ink: #ece8f3;
    --soft: #aaa2ba;
    --edge: #383246;
    --edge-strong: #776e8a;
    --key: #c4aef5;
    --on-color: #17151d;
    --chip: #cfc8da;
    color-scheme: dark;
  }
  .theme-sepia {
    --page: #f6ecd9;
    --raised: #efe2c9;
    --ink: #3b2b17;
    --soft: #6a573d;
    --edge: #dccbab;
    --edge-strong: #8d7a5c;
    --key: #7d4a14;
    --yellow: #6b4f00;
    --orange: #963f08;
    --green: #17613c;
    --on-color: #fffaf0;
  }
  .theme-contrast {
    --red: #ff8a80;
    --orange: #ffb26b;
    --yellow: #ffe45c;
    --green: #6dffa8;
    --blue: #8ec5ff;
    --purple: #d9c2ff;
    --pink: #ff9fd2;
    --grey: #d0d0d0;
    --black: #000000;
    --page: #000000;
    --raised: #000000;
    --ink: #ffffff;
    --soft: #ffffff;
    --edge: #ffffff;
    --edge-strong: #ffffff;
    --key: #ffe45c;
    --on-color: #000000;
    --chip: #d0d0d0;
    color-scheme: dark;
  }
  .c-red {
    --c: var(--red);
  }
  .c-orange {
    --c: var(--orange);
  }
  .c-yellow {
    --c: var(--yellow);
  }
  .c-green {
    --c: var(--green);
  }
  .c-blue {
    --c: var(--blue);
  }
  .c-purple {
    --c: var(--purple);
  }
  .c-pink {
    --c: var(--pink);
  }
  .c-grey {
    --c: var(--grey);
  }
  .c-black {
    --c: var(--black);
    --on: #ffffff;
  }
  .c-white {
    --c: var(--white);
    --on: #17141c;
  }
  /* Letters as bright as the page stand on a ground of their own. */
  :is(.theme-light, .theme-sepia) .c-white:is(.header, .text, .item, .checkbox),
  :is(.theme-dark, .theme-contrast) .c-black:is(.header, .text, .item, .checkbox) {
    background: var(--chip);
    border-radius: 6px;
    padding-inline: 0.4rem;
  }
`;
