// Kimi Delta Attention, forward, heads of 128: chunks of 32, so that one anchor of decays serves a chunk.
!keys = !nest.tile<32x128xbf16, swizzled>
!keys16 = !nest.tile<32x128xf16, swizzled>
!keys16_t = !nest.tile<128x32xf16, swizzled>
!gates = !nest.tile<32x128xf32, plain>
!rows = !nest.tile<64x128xtf32, swizzled>
!columns = !nest.tile<32x128xtf32, swizzled>
!columns_t = !nest.tile<128x32xtf32, swizzled>
!between = !nest.tile<32x64xf16, swizzled>
!inverse = !nest.tile<16x16xf16, swizzled>
!sums = !nest.tile<64x32xf32, sums>
!half_sums = !nest.tile<64x16xf32, sums>
!half = !nest.tile<64x16xf16, operand>
!operand = !nest.tile<64x32xf16, operand>
!state = !nest.tile<64x128xf32, sums>
!state16 = !nest.tile<64x128xf16, operand>
!made16 = !nest.tile<32x128xf16, fragments>
!whole = !nest.tile<1x128xf32, plain>
nest.kernel "kda_c64_forward" shared 232448 {
  %q = nest.channel depth 4 : !keys
  %k = nest.channel depth 4 : !keys
  %v = nest.channel depth 3 : !keys
  %g = nest.channel depth 2 : !gates
  %q16 = nest.channel depth 4 over %q : !keys to : !keys16
  %k16 = nest.channel depth 4 over %k : !keys to : !keys16
  %k_out = nest.channel depth 3 : !keys16
  %rows = nest.channel depth 1 : !rows
  %columns = nest.channel depth 1 : !columns
  %between = nest.channel depth 2 : !between
  %whole = nest.channel depth 4 : !whole
  %o = nest.channel depth 1 : !keys
  nest.role "converter" warps 4 registers 128 {
    nest.sweep "chunks" {
      nest.load "g" ahead 1 into %g : !gates
      %gates = nest.get %g : !gates
      %queries = nest.get %q : !keys
      %keys = nest.get %k : !keys
      %f:2 = nest.compute "factors"(%gates, %queries, %keys) : (!gates, !keys, !keys) -> (!nest.tile<64x128xtf32, fragments>, !nest.tile<32x128xtf32, fragments>)
      nest.put %f#0 into %rows : !nest.tile<64x128xtf32, fragments> to !rows
      nest.put %f#1 into %columns : !nest.tile<32x128xtf32, fragments> to !columns
      %to_end = nest.compute "to_end"(%gates, %keys) : (!gates, !keys) -> !made16
      nest.put %to_end into %k_out : !made16 to !keys16
      %last = nest.compute "whole"(%gates) : (!gates) -> !nest.tile<1x128xf32, fragments>
      nest.put %last into %whole : !nest.tile<1x128xf32, fragments> to !whole
      %read = nest.compute "decayed"(%gates, %queries) : (!gates, !keys) -> !made16
      nest.put %read into %q16 : !made16 to !keys16
      %erased = nest.compute "decayed"(%gates, %keys) : (!gates, !keys) -> !made16
      nest.put %erased into %k16 : !made16 to !keys16
      nest.release %g : !gates
    }
  }
  nest.role "factors" warps 4 registers 64 {
    nest.sweep "chunks" {
      nest.load "q" ahead 3 into %q : !keys
      nest.load "k" ahead 3 into %k : !keys
      nest.load "v" ahead 2 into %v : !keys
      %a = nest.get %rows : !rows
      %b = nest.get %columns : !columns
      %b_t = nest.transpose %b : !columns -> !columns_t
      %started = nest.issue "wgmma.shared" %a, %b_t : !rows, !columns_t -> !sums
      %AP = nest.await %started : !sums
      nest.release %rows : !rows
      nest.release %columns : !columns
      %tiles = nest.compute "inverses_A_P"(%AP) : (!sums) -> !operand
      nest.put %tiles into %between : !operand to !between
    }
  }
  nest.role "state" copies 2 warps 4 registers 160 {
    %zero = nest.compute "zero"() : () -> !state
    %last = nest.sweep "chunks" carry %zero : !state {
    ^bb0(%S: !state):
      %S16 = nest.compute "round"(%S) : (!state) -> !state16
      %keys = nest.get %k16 : !keys16
      %keys_t = nest.transpose %keys : !keys16 -> !keys16_t
      %X0 = nest.issue "wgmma.registers" %S16, %keys_t : !state16, !keys16_t -> !sums
      %queries = nest.get %q16 : !keys16
      %queries_t = nest.transpose %queries : !keys16 -> !keys16_t
      %O0 = nest.issue "wgmma.registers" %S16, %queries_t : !state16, !keys16_t -> !sums
      %X = nest.await %X0 : !sums
      %O1 = nest.await %O0 : !sums
      nest.release %k16 : !keys16
      nest.release %q16 : !keys16
      %values = nest.get %v : !keys
      %W:2 = nest.compute "values_minus"(%X, %values) : (!sums, !keys) -> (!half, !half_sums)
      nest.release %v : !keys
      %tiles = nest.get %between : !between
      %block = nest.part %tiles : !between -> !inverse
      %U0 = nest.issue "wgmma.registers" %W#0, %block : !half, !inverse -> !half_sums
      %U1 = nest.await %U0 : !half_sums
      %U16 = nest.compute "round"(%U1) : (!half_sums) -> !half
      %Y0 = nest.issue "wgmma.registers" %U16, %block add %W#1 : !half_sums : !half, !inverse -> !half_sums
      %Y = nest.await %Y0 : !half_sums
      %U = nest.compute "second_half"(%U16, %Y) : (!half, !half_sums) -> !operand
      %decays = nest.get %whole : !whole
      %decayed = nest.compute "decay"(%S, %decays) : (!state, !whole) -> !state
      nest.release %whole : !whole
      %written = nest.get %k_out : !keys16
      %next0 = nest.issue "wgmma.registers" %U, %written add %decayed : !state : !operand, !keys16 -> !state
      %P = nest.part %tiles : !between -> !nest.tile<32x32xf16, swizzled>
      %O2 = nest.issue "wgmma.registers" %U, %P add %O1 : !sums : !operand, !nest.tile<32x32xf16, swizzled> -> !sums
      %next = nest.await %next0 : !state
      %O = nest.await %O2 : !sums
      nest.release %between : !between
      nest.release %k_out : !keys16
      %rounded = nest.compute "scale"(%O) : (!sums) -> !nest.tile<64x32xbf16, operand>
      nest.put %rounded into %o : !nest.tile<64x32xbf16, operand> to !keys
      %out = nest.get %o : !keys
      nest.store %out to "o" : !keys
      nest.release %o : !keys
      nest.yield %next : !state
    }
  }
}
