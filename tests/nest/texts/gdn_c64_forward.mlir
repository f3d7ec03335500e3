// Gated DeltaNet, forward, heads of 128: chunks of 64, the state in the sums of two warpgroups.
!keys = !nest.tile<64x128xbf16, swizzled>
!keys16 = !nest.tile<64x128xf16, swizzled>
!keys16_t = !nest.tile<128x64xf16, swizzled>
!keys_t = !nest.tile<128x64xbf16, swizzled>
!square16 = !nest.tile<64x64xf16, swizzled>
!sums = !nest.tile<64x64xf32, sums>
!state = !nest.tile<64x128xf32, sums>
!operand = !nest.tile<64x64xf16, operand>
!decays = !nest.tile<6x64xf32, plain>
nest.kernel "gdn_c64_forward" shared 232448 {
  %q = nest.channel depth 3 : !keys
  %k = nest.channel depth 3 : !keys
  %v = nest.channel depth 3 : !keys
  %q16 = nest.channel depth 3 over %q : !keys to : !keys16
  %k16 = nest.channel depth 3 over %k : !keys to : !keys16
  %decays = nest.channel depth 3 : !decays
  %T = nest.channel depth 2 : !square16
  %P = nest.channel depth 2 : !square16
  %o = nest.channel depth 1 : !keys
  %blocks = nest.channel depth 2 : !nest.tile<64x48xf16, padded>
  nest.role "read" warps 4 registers 64 {
    nest.sweep "chunks" {
      nest.load "q" ahead 2 into %q : !keys
      nest.load "k" ahead 2 into %k : !keys
      nest.load "v" ahead 2 into %v : !keys
      %d = nest.compute "decays"() : () -> !nest.tile<6x64xf32, fragments>
      nest.put %d into %decays : !nest.tile<6x64xf32, fragments> to !decays
      %queries = nest.get %q : !keys
      %keys = nest.get %k : !keys
      %keys_t = nest.transpose %keys : !keys -> !keys_t
      %started = nest.issue "wgmma.shared" %queries, %keys_t : !keys, !keys_t -> !sums
      %QK = nest.await %started : !sums
      %pairs = nest.compute "decayed"(%QK) : (!sums) -> !operand
      nest.put %pairs into %P : !operand to !square16
      %read = nest.compute "decayed_f16"(%queries) : (!keys) -> !nest.tile<64x128xf16, fragments>
      nest.put %read into %q16 : !nest.tile<64x128xf16, fragments> to !keys16
      %exact = nest.compute "f16"(%keys) : (!keys) -> !nest.tile<64x128xf16, fragments>
      nest.put %exact into %k16 : !nest.tile<64x128xf16, fragments> to !keys16
    }
  }
  nest.role "write" warps 4 registers 64 {
    nest.sweep "chunks" {
      %keys = nest.get %k : !keys
      %keys_t = nest.transpose %keys : !keys -> !keys_t
      %started = nest.issue "wgmma.shared" %keys, %keys_t : !keys, !keys_t -> !sums
      %KK = nest.await %started : !sums
      nest.release %k : !keys
      %d = nest.get %decays : !decays
      %L = nest.compute "lower_beta"(%KK, %d) : (!sums, !decays) -> !nest.tile<64x48xf16, fragments>
      nest.release %decays : !decays
      nest.put %L into %blocks : !nest.tile<64x48xf16, fragments> to !nest.tile<64x48xf16, padded>
      %below = nest.get %blocks : !nest.tile<64x48xf16, padded>
      %inverse = nest.compute "inverse_times_beta"(%below) : (!nest.tile<64x48xf16, padded>) -> !operand
      nest.release %blocks : !nest.tile<64x48xf16, padded>
      nest.put %inverse into %T : !operand to !square16
    }
  }
  nest.role "state" copies 2 warps 4 registers 192 {
    %zero = nest.compute "zero"() : () -> !state
    %last = nest.sweep "chunks" carry %zero : !state {
    ^bb0(%S: !state):
      %keys = nest.get %k16 : !keys16
      %keys_t = nest.transpose %keys : !keys16 -> !keys16_t
      %S16 = nest.compute "round"(%S) : (!state) -> !nest.tile<64x128xf16, operand>
      %X0 = nest.issue "wgmma.registers" %S16, %keys_t : !nest.tile<64x128xf16, operand>, !keys16_t -> !sums
      %X = nest.await %X0 : !sums
      %d = nest.get %decays : !decays
      %values = nest.get %v : !keys
      %W = nest.compute "values_minus"(%X, %values, %d) : (!sums, !keys, !decays) -> !operand
      nest.release %v : !keys
      %inverse = nest.get %T : !square16
      %inverse_t = nest.transpose %inverse : !square16 -> !square16
      %U0 = nest.issue "wgmma.registers" %W, %inverse_t : !operand, !square16 -> !sums
      %U = nest.await %U0 : !sums
      nest.release %T : !square16
      %to_end = nest.compute "decay_to_end"(%U, %d) : (!sums, !decays) -> !operand
      %U16 = nest.compute "round"(%U) : (!sums) -> !operand
      %decayed = nest.compute "decay"(%S, %d) : (!state, !decays) -> !state
      nest.release %decays : !decays
      %next0 = nest.issue "wgmma.registers" %to_end, %keys add %decayed : !state : !operand, !keys16 -> !state
      %pairs = nest.get %P : !square16
      %pairs_t = nest.transpose %pairs : !square16 -> !square16
      %queries = nest.get %q16 : !keys16
      %queries_t = nest.transpose %queries : !keys16 -> !keys16_t
      %O0 = nest.issue "wgmma.registers" %U16, %pairs_t : !operand, !square16 -> !sums
      %O1 = nest.issue "wgmma.registers" %S16, %queries_t behind %O0 : !sums : !nest.tile<64x128xf16, operand>, !keys16_t -> !sums
      %next = nest.await %next0 : !state
      %O = nest.await %O1 : !sums
      nest.release %k16 : !keys16
      nest.release %q16 : !keys16
      nest.release %P : !square16
      %rounded = nest.compute "scale"(%O) : (!sums) -> !nest.tile<64x64xbf16, operand>
      nest.put %rounded into %o : !nest.tile<64x64xbf16, operand> to !keys
      %whole = nest.get %o : !keys
      nest.store %whole to "o" : !keys
      nest.release %o : !keys
      nest.yield %next : !state
    }
  }
}
