// RWKV-7, backward, heads of 64, one role: groups of four chunks of 16 from the last to the first. The states of a group
// are computed again from the saved one, forward, and wait in a workspace for the sweep back.
!token = !nest.tile<16x64xbf16, padded>
!saved = !nest.tile<64x64xf32, plain>
!state = !nest.tile<64x64xf32, fragments>
!keys = !nest.tile<16x64xf32, fragments>
!values = !nest.tile<16x64xf32, fragments>
!small = !nest.tile<16x16xf16, fragments>
!key16 = !nest.tile<16x64xf16, fragments>
nest.kernel "rwkv7_backward" shared 232448 {
  %r = nest.channel depth 2 : !token
  %w = nest.channel depth 2 : !token
  %k = nest.channel depth 2 : !token
  %a = nest.channel depth 2 : !token
  %b = nest.channel depth 2 : !token
  %v = nest.channel depth 2 : !token
  %dO = nest.channel depth 2 : !token
  %saved = nest.channel depth 1 : !saved
  %states = nest.channel depth 2 : !saved
  %U = nest.channel depth 1 : !nest.tile<16x64xf16, padded>
  nest.role "all" warps 8 registers 240 {
    %zero = nest.compute "final_gradient"() : () -> !state
    %first = nest.sweep "groups" of 4 backward carry %zero : !state {
    ^bb0(%dS0: !state):
      nest.load "saved_states" into %saved : !saved
      %staged = nest.get %saved : !saved
      %S0 = nest.compute "load"(%staged) : (!saved) -> !state
      nest.release %saved : !saved
      %last = nest.sweep "group" carry %S0 : !state {
      ^bb0(%S: !state):
        nest.load "w" ahead 1 into %w : !token
        nest.load "k" ahead 1 into %k : !token
        nest.load "a" ahead 1 into %a : !token
        nest.load "b" ahead 1 into %b : !token
        nest.load "v" ahead 1 into %v : !token
        nest.store %S to "states" : !state
        %w0 = nest.get %w : !token
        %k0 = nest.get %k : !token
        %a0 = nest.get %a : !token
        %b0 = nest.get %b : !token
        %v0 = nest.get %v : !token
        %next = nest.compute "next_state"(%S, %w0, %k0, %a0, %b0, %v0) : (!state, !token, !token, !token, !token, !token) -> !state
        nest.release %w : !token
        nest.release %k : !token
        nest.release %a : !token
        nest.release %b : !token
        nest.release %v : !token
        nest.yield %next : !state
      }
      %before = nest.sweep "group" backward carry %dS0 : !state {
      ^bb0(%dS: !state):
        nest.load "states" ahead 1 into %states : !saved
        nest.load "r" ahead 1 into %r : !token
        nest.load "w" ahead 1 into %w : !token
        nest.load "k" ahead 1 into %k : !token
        nest.load "a" ahead 1 into %a : !token
        nest.load "b" ahead 1 into %b : !token
        nest.load "v" ahead 1 into %v : !token
        nest.load "do" ahead 1 into %dO : !token
        %r0 = nest.get %r : !token
        %w0 = nest.get %w : !token
        %k0 = nest.get %k : !token
        %a0 = nest.get %a : !token
        %b0 = nest.get %b : !token
        %v0 = nest.get %v : !token
        %dO0 = nest.get %dO : !token
        %factors:2 = nest.compute "factors"(%r0, %w0, %k0, %a0, %b0) : (!token, !token, !token, !token, !token) -> (!key16, !key16)
        %kept = nest.get %states : !saved
        %made = nest.compute "erased_values"(%kept, %factors#0, %v0) : (!saved, !key16, !token) -> !key16
        nest.put %made into %U : !key16 to !nest.tile<16x64xf16, padded>
        %U0 = nest.get %U : !nest.tile<16x64xf16, padded>
        %g:6 = nest.compute "gradients"(%dS, %kept, %U0, %factors#0, %factors#1, %dO0) : (!state, !saved, !nest.tile<16x64xf16, padded>, !key16, !key16, !token) -> (!keys, !keys, !keys, !keys, !keys, !values)
        nest.store %g#0 to "dr" : !keys
        nest.store %g#1 to "dw" : !keys
        nest.store %g#2 to "dk" : !keys
        nest.store %g#3 to "da" : !keys
        nest.store %g#4 to "db" : !keys
        nest.store %g#5 to "dv" : !values
        %dS_next = nest.compute "previous_gradient"(%dS, %factors#1, %U0) : (!state, !key16, !nest.tile<16x64xf16, padded>) -> !state
        nest.release %U : !nest.tile<16x64xf16, padded>
        nest.release %states : !saved
        nest.release %r : !token
        nest.release %w : !token
        nest.release %k : !token
        nest.release %a : !token
        nest.release %b : !token
        nest.release %v : !token
        nest.release %dO : !token
        nest.yield %dS_next : !state
      }
      nest.yield %before : !state
    }
    nest.store %first to "dinitial_state" : !state
  }
}
