// Gated DeltaNet, forward, heads of 128: chunks of 64, the state in the sums of two warpgroups.
!keys = !nest.tile<64x128xbf16, swizzled>
!keys16 = !nest.tile<64x128xf16, swizzled>
!keys16_t = !nest.tile<128x64xf16, swizzled>
!keys_t = !nest.tile<128x64xbf16, swizzled>
!values = !nest.tile<64x64xbf16, swizzled>
!square16 = !nest.tile<64x64xf16, swizzled>
!blocks = !nest.tile<64x16xf32, operand>
!blocks16 = !nest.tile<64x16xf16, operand>
!sums = !nest.tile<64x64xf32, sums>
!state = !nest.tile<64x128xf32, sums>
!state16 = !nest.tile<64x128xf16, operand>
!outputs = !nest.tile<64x64xbf16, operand>
!operand = !nest.tile<64x64xf16, operand>
!strengths = !nest.tile<64x1xf32, fragments>
!decays = !nest.tile<5x64xf32, plain>
!row = !nest.tile<1x64xf32, plain>
!column = !nest.tile<64x1xf32, plain>
!tokens = !nest.tile<1x64xf32, tokens>
!number = !nest.tile<1x1xf32, fragments>
nest.kernel "gdn_c64_forward" for "gated_delta_net" chunk 64 head 128 x 128 tensors ["input q bf16 B,T,H,K", "input k bf16 B,T,H,K", "input v bf16 B,T,H,V", "input g f32 B,T,H", "input beta f32 B,T,H", "output o bf16 B,T,H,V", "workspace forward_refused f32 B,H,1,1", "initial_state initial_state f32 B,H,V,K", "final_state final_state f32 B,H,V,K"] expects ["q", "k", "v"] shared 232448 {
  %q = nest.channel depth 3 : !keys
  %k = nest.channel depth 3 : !keys
  %v = nest.channel depth 3 : !keys
  %q16 = nest.channel depth 3 over %q : !keys to : !keys16
  %k16 = nest.channel depth 3 over %k : !keys to : !keys16
  %decays = nest.channel depth 3 : !decays
  %T = nest.channel depth 2 : !square16
  %P = nest.channel depth 2 : !square16
  %o = nest.channel depth 1 : !keys
  %factor = nest.channel depth 1 : !square16
  %diagonal = nest.channel depth 1 : !square16
  %halves = nest.channel depth 1 : !square16
  %right = nest.channel depth 1 over %diagonal : !square16 to : !square16
  nest.role "read" warps 4 registers 64 {
    %scale = nest.constant 0.0883883461 : !number
    %log2_e = nest.constant 1.44269502 : !number
    %least = nest.constant -64.0 : !number
    %g0 = nest.tokens "g" : !tokens
    %beta0 = nest.tokens "beta" : !tokens
    nest.sweep "chunks" carry %g0, %beta0 : !tokens, !tokens {
    ^bb0(%g: !tokens, %beta: !tokens):
      nest.load "q" ahead 1 into %q : !keys
      nest.load "k" ahead 1 into %k : !keys
      nest.load "v" ahead 1 into %v : !keys
      %log2_g = nest.elementwise multiply %g, %log2_e : !tokens, !number -> !tokens
      %log2_w = nest.elementwise maximum %log2_g, %least : !tokens, !number -> !tokens
      %sums = nest.cumsum %log2_w : !tokens
      %from_start = nest.elementwise exp2 %sums : !tokens -> !tokens
      %last = nest.element %sums[63] : !tokens -> !number
      %left = nest.elementwise subtract %last, %sums : !number, !tokens -> !tokens
      %to_end = nest.elementwise exp2 %left : !tokens -> !tokens
      %reads = nest.elementwise multiply %from_start, %scale : !tokens, !number -> !tokens
      %all = nest.stack %sums, %from_start, %to_end, %beta, %reads : !tokens, !tokens, !tokens, !tokens, !tokens -> !nest.tile<5x64xf32, tokens>
      nest.put %all into %decays : !nest.tile<5x64xf32, tokens> to !decays
      %g_next = nest.tokens "g" ahead 1 : !tokens
      %beta_next = nest.tokens "beta" ahead 1 : !tokens
      %d = nest.get %decays : !decays
      %L = nest.row %d[0] : !decays -> !row
      %queries = nest.get %q : !keys
      %keys = nest.get %k : !keys
      %keys_t = nest.transpose %keys : !keys -> !keys_t
      %started = nest.issue "wgmma.shared" %queries, %keys_t : !keys, !keys_t -> !sums
      %QK = nest.await %started : !sums
      %decayed = nest.decayed_pairs %QK, %L : !sums, !row -> !sums
      %scaled = nest.elementwise multiply %decayed, %scale : !sums, !number -> !sums
      %pairs = nest.convert %scaled : !sums -> !operand
      nest.put %pairs into %P : !operand to !square16
      %e_L = nest.row %d[4] : !decays -> !row
      %e_L_t = nest.transpose %e_L : !row -> !column
      %read = nest.elementwise multiply %queries, %e_L_t : !keys, !column -> !state
      %read16 = nest.convert %read : !state -> !state16
      nest.put %read16 into %q16 : !state16 to !keys16
      nest.release %decays : !decays
      %exact = nest.convert %keys : !keys -> !state16
      nest.put %exact into %k16 : !state16 to !keys16
      nest.yield %g_next, %beta_next : !tokens, !tokens
    }
  }
  nest.role "write" warps 4 registers 64 {
    %minus = nest.constant -1.0 : !number
    nest.sweep "chunks" {
      %keys = nest.get %k : !keys
      %keys_t = nest.transpose %keys : !keys -> !keys_t
      %started = nest.issue "wgmma.shared" %keys, %keys_t : !keys, !keys_t -> !sums
      %KK = nest.await %started : !sums
      nest.release %k : !keys
      %d = nest.get %decays : !decays
      %sums = nest.row %d[0] : !decays -> !row
      %beta = nest.row %d[3] : !decays -> !row
      %beta_t = nest.transpose %beta : !row -> !column
      %strengths = nest.convert %beta_t : !column -> !strengths
      %pairs = nest.decayed_pairs unmasked %KK, %sums : !sums, !row -> !sums
      %L = nest.elementwise multiply %pairs, %strengths : !sums, !strengths -> !sums
      %L2 = nest.level 32 %L : !sums
      %L2_16 = nest.convert %L2 : !sums -> !operand
      %solved:2 = nest.solve_diagonal %L : !sums -> !blocks16, !blocks16
      %D_tile = nest.set_blocks %solved#0 : !blocks16 -> !operand
      nest.put %D_tile into %diagonal : !operand to !square16
      %ones = nest.diagonal %minus : !number -> !blocks
      %ones16 = nest.convert %ones : !blocks -> !blocks16
      %NL = nest.set_blocks level %solved#1 into %L2_16 : !operand : !blocks16 -> !operand
      %X = nest.set_blocks %ones16 into %NL : !operand : !blocks16 -> !operand
      nest.put %X into %factor : !operand to !square16
      %inverses = nest.get %diagonal : !square16
      %left = nest.get %factor : !square16
      %Z0 = nest.issue "wgmma.shared" %left, %inverses : !square16, !square16 -> !sums
      %Z = nest.await %Z0 : !sums
      %Z_halves = nest.level 32 without %Z : !sums
      %minus_Z = nest.elementwise multiply %Z_halves, %minus : !sums, !number -> !sums
      %Z16 = nest.convert %minus_Z : !sums -> !operand
      nest.put %Z16 into %halves : !operand to !square16
      %inverse_halves = nest.get %halves : !square16
      %W0 = nest.issue "wgmma.shared" %left, %inverse_halves : !square16, !square16 -> !sums
      %W = nest.await %W0 : !sums
      nest.release %factor : !square16
      %W2 = nest.level 32 %W : !sums
      %W_beta = nest.elementwise multiply %W2, %beta : !sums, !row -> !sums
      %minus_W = nest.elementwise multiply %W_beta, %minus : !sums, !number -> !sums
      %W16 = nest.convert %minus_W : !sums -> !operand
      %betas = nest.diagonal %beta_t : !column -> !blocks
      %betas16 = nest.convert %betas : !blocks -> !blocks16
      nest.release %decays : !decays
      %Y = nest.set_blocks %betas16 into %W16 : !operand : !blocks16 -> !operand
      nest.put %Y into %right : !operand to !square16
      %right_tile = nest.get %right : !square16
      %T0 = nest.issue "wgmma.shared" %inverse_halves, %right_tile : !square16, !square16 -> !sums
      %inverse = nest.await %T0 : !sums
      nest.release %halves : !square16
      nest.release %right : !square16
      %T16 = nest.convert %inverse : !sums -> !operand
      nest.put %T16 into %T : !operand to !square16
    }
  }
  nest.role "state" copies 2 warps 4 registers 192 {
    %initial = nest.load_state "initial_state" : !state
    %none = nest.constant 0.0 : !outputs
    %last:2 = nest.sweep "chunks" carry %initial, %none : !state, !outputs {
    ^bb0(%S: !state, %O_before: !outputs):
      %S16 = nest.convert %S : !state -> !state16
      %d = nest.get %decays : !decays
      %e_L = nest.row %d[1] : !decays -> !row
      %left = nest.row %d[2] : !decays -> !row
      %all_values = nest.get %v : !keys
      %values = nest.part %all_values : !keys -> !values
      %values_t = nest.transpose %values : !values -> !values
      %keys = nest.get %k16 : !keys16
      %keys_t = nest.transpose %keys : !keys16 -> !keys16_t
      %X0 = nest.issue "wgmma.registers" %S16, %keys_t : !state16, !keys16_t -> !sums
      %before_t = nest.transpose %O_before : !outputs -> !outputs
      nest.put %before_t into %o : !outputs to !keys
      %V = nest.convert %values_t : !values -> !outputs
      nest.release %v : !keys
      %X = nest.await %X0 : !sums
      %known = nest.elementwise multiply %X, %e_L : !sums, !row -> !sums
      %missing = nest.elementwise subtract %V, %known : !outputs, !sums -> !sums
      %W = nest.convert %missing : !sums -> !operand
      %inverse = nest.get %T : !square16
      %inverse_t = nest.transpose %inverse : !square16 -> !square16
      %U0 = nest.issue "wgmma.registers" %W, %inverse_t : !operand, !square16 -> !sums
      %whole = nest.element %e_L[63] : !row -> !number
      %decayed = nest.elementwise multiply %S, %whole : !state, !number -> !state
      %pairs = nest.get %P : !square16
      %pairs_t = nest.transpose %pairs : !square16 -> !square16
      %queries = nest.get %q16 : !keys16
      %queries_t = nest.transpose %queries : !keys16 -> !keys16_t
      %U = nest.await %U0 : !sums
      nest.release %T : !square16
      %written = nest.elementwise multiply %U, %left : !sums, !row -> !sums
      %to_end = nest.convert %written : !sums -> !operand
      %U16 = nest.convert %U : !sums -> !operand
      nest.release %decays : !decays
      %next0 = nest.issue "wgmma.registers" %to_end, %keys add %decayed : !state : !operand, !keys16 -> !state
      %O0 = nest.issue "wgmma.registers" %U16, %pairs_t : !operand, !square16 -> !sums
      %O1 = nest.issue "wgmma.registers" %S16, %queries_t behind %O0 : !sums : !state16, !keys16_t -> !sums
      %next = nest.await %next0 : !state
      %O = nest.await %O1 : !sums
      nest.release %k16 : !keys16
      nest.release %q16 : !keys16
      nest.release %P : !square16
      %O16 = nest.convert %O : !sums -> !outputs
      nest.guard %O16 : !outputs
      %outputs = nest.get %o : !keys
      %own_outputs = nest.part %outputs : !keys -> !values
      nest.store %own_outputs to "o" behind 1 : !values
      nest.release %o : !keys
      nest.yield %next, %O16 : !state, !outputs
    }
    %last_t = nest.transpose %last#1 : !outputs -> !outputs
    nest.put %last_t into %o : !outputs to !keys
    %last_outputs = nest.get %o : !keys
    %own_last = nest.part %last_outputs : !keys -> !values
    nest.store %own_last to "o" behind 1 : !values
    nest.release %o : !keys
    nest.store_state %last#0 to "final_state" : !state
  }
}
