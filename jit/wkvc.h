/* wkvc for C and for whatever calls C: kernels compiled while a program runs, launched on raw pointers.
 *
 *   wkvc_operator* op = NULL;
 *   if (wkvc_prepare("rwkv7", "--head 64 --io bf16 --pass both", WKVC_CUDA, &op) != WKVC_OK) puts(wkvc_message());
 *   wkvc_launch(op, WKVC_FORWARD, B, T, H, tensors, count, workspace, stream, WKVC_CHECK_LAYOUT);
 *
 * Every function may be called from any thread. None aborts or throws, and none but wkvc_command prints. */
#ifndef WKVC_JIT_WKVC_H
#define WKVC_JIT_WKVC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wkvc_status {
  WKVC_OK = 0,
  WKVC_USER_ERROR = 2,     /* what was given, or what the machine lacks: wkvc_message says what to do */
  WKVC_INTERNAL_ERROR = 3, /* a fault of wkvc, or of the driver */
  WKVC_OUT_OF_MEMORY = 4   /* of the host's */
} wkvc_status;

typedef enum wkvc_target { WKVC_CUDA = 0, WKVC_HOST = 1 } wkvc_target;
/* What a launch checks: dtypes, shapes, strides, alignment and overlaps; and that the GPU reaches the memory, which
 * costs the host about a microsecond more for every few tensors. */
typedef enum wkvc_checks { WKVC_CHECK_LAYOUT = 0, WKVC_CHECK_MEMORY = 1 } wkvc_checks;
typedef enum wkvc_pass { WKVC_FORWARD = 0, WKVC_BACKWARD = 1 } wkvc_pass;
typedef enum wkvc_dtype { WKVC_F32 = 0, WKVC_F16 = 1, WKVC_BF16 = 2 } wkvc_dtype;

/* Compiled kernels, ready to launch. */
typedef struct wkvc_operator wkvc_operator;

/* A tensor in the target's memory. Strides count elements, the last dimension is contiguous. data NULL: left out. */
typedef struct wkvc_tensor {
  void* data;
  const int64_t* shape;
  const int64_t* strides; /* NULL: contiguous */
  int32_t rank;
  int32_t dtype; /* a wkvc_dtype */
} wkvc_tensor;

/* What a pass expects of a tensor. The texts live as long as the operator. */
typedef struct wkvc_tensor_info {
  const char* name; /* "r", "o", "initial_state", "dr" */
  const char* dims; /* "B T H K", "H K", "B H V K", "B T H"; "B M H V K" of intermediate states, M = T / N tokens */
  int32_t rank;
  int32_t dtype;       /* a wkvc_dtype */
  int32_t is_result;   /* 1: written */
  int32_t is_optional; /* 1: may be left out */
} wkvc_tensor_info;

const char* wkvc_version(void); /* "0.1.0" */

/* 1 where a GPU of this compute capability, such as 9 and 0, runs the kernels; else 0. */
int32_t wkvc_runs_on(int32_t compute_major, int32_t compute_minor);

/* What went wrong in this thread's last call that did not return WKVC_OK; valid until its next one. */
const char* wkvc_message(void);

/* Compiles an operator, or finds it in memory or in the disk cache. `recurrence` is a name that `wkvc list` shows, or
 * the text of a stage as `wkvc emit` prints it; `options` are those of the command line that configure a kernel
 * ("--head 64 --mma bf16"), NULL for none, and "--shape B,T,H", the size that settings are chosen for (8,4096,64),
 * with "--sequences N" that lie one behind the other in a batch; kernels take any. What a text has settled can't be
 * chosen again. `*result` is NULL after a failure. Takes seconds where nothing is cached; do it before anything is
 * timed. */
wkvc_status wkvc_prepare(const char* recurrence, const char* options, wkvc_target target, wkvc_operator** result);
void wkvc_release(wkvc_operator* op); /* NULL is let through */

/* The text of a stage, "rec", "chunk", "placed", "warp" or "cuda", as `wkvc emit` prints it; of the rec stage with the
 * names and dtypes of all tensors. `recurrence` and `options` are as for wkvc_prepare. `*result` is valid until this
 * thread's next call of this function. */
wkvc_status wkvc_emit(const char* recurrence, const char* options, const char* stage, const char** result);

/* The names of the recurrences that this process knows, between spaces. `*result` is valid until this thread's next
 * call of this function or the next. */
wkvc_status wkvc_names(const char** result);

/* The name, the head, the tensors and the options of a recurrence as JSON (jit/signature.h). `recurrence` and `options`
 * are as for wkvc_prepare; a text is one of the rec stage, and has no options. */
wkvc_status wkvc_signature(const char* recurrence, const char* options, const char** result);

int32_t wkvc_tensor_count(const wkvc_operator* op, wkvc_pass pass); /* 0 where there is no such pass */
wkvc_status wkvc_tensor_at(const wkvc_operator* op, wkvc_pass pass, int32_t index, wkvc_tensor_info* result);

/* Bytes of memory, aligned to 256 (on the host: 64), that launches at this size need beside the tensors. A backward
 * pass reads there what the forward pass of the same inputs has left. */
wkvc_status wkvc_workspace_bytes(const wkvc_operator* op, int64_t batches, int64_t tokens, int64_t heads,
                                 int64_t* result);

/* Where sequences lie: each in a batch of its own, or one behind the other in tensors of tokens whose B is 1, sequence
 * n from starts[n] to before starts[n + 1] ("cu_seqlens"). Kernels bring starts that decrease or leave 0 ... T to the
 * nearest ones that do not; tokens of no sequence are left as they are. */
typedef enum wkvc_sequence_layout { WKVC_BATCHES = 0, WKVC_STARTS_32 = 1, WKVC_STARTS_64 = 2 } wkvc_sequence_layout;

/* What kernels found wrong with starts and slots: 1 + the number of such a sequence. They write nothing else: set both
 * to 0 before a launch. `starts`: a start or an end that kernels moved, or a first start other than 0. `slots`: a slot
 * from slot_count on, or one that an earlier sequence has, too. */
typedef struct wkvc_report {
  int32_t starts, slots;
} wkvc_report;

/* All memory is the target's, and the host never reads it. But on WKVC_HOST a launch without a report refuses starts
 * that decrease or leave 0 ... T, and slots that are too large or another sequence's (WKVC_USER_ERROR). States and
 * their gradients have B = count; with slots, for a forward pass alone, initial and final states have B = slot_count,
 * and may be the same memory. Sequence n has the state slots[n]. Where that is no slot, such as -1, nothing of the
 * sequence is read or written. Tensors of inputs that were named in --shared, and of their gradients, have shared_heads
 * heads ("S" in dims), a divisor of the launch's: each serves as many neighbouring heads. */
typedef struct wkvc_sequences {
  int64_t count;
  int32_t layout;       /* a wkvc_sequence_layout */
  const void* starts;   /* count + 1 numbers of 32 or 64 bits; NULL for WKVC_BATCHES, and for sizes */
  const int32_t* slots; /* count numbers; NULL: sequence n has state n */
  int64_t slot_count;
  int64_t shared_heads; /* 0: as many as heads */
  wkvc_report* report;  /* NULL: nobody wants to know */
} wkvc_sequences;

/* The same as wkvc_workspace_bytes, and as wkvc_launch below, for sequences with `tokens` tokens each, or all together
 * where they lie one behind the other. The first launch of a pass with starts, slots or shared heads compiles its
 * kernels for such, and belongs before any capture. */
wkvc_status wkvc_sequences_workspace_bytes(const wkvc_operator* op, const wkvc_sequences* sequences, int64_t tokens,
                                           int64_t heads, int64_t* result);
wkvc_status wkvc_launch_sequences(const wkvc_operator* op, wkvc_pass pass, const wkvc_sequences* sequences,
                                  int64_t tokens, int64_t heads, const wkvc_tensor* tensors, int32_t count,
                                  void* workspace, void* stream, wkvc_checks checks);

/* The part of these bytes that the forward pass leaves for the backward pass, which only reads it: the beginning of the
 * memory. `sequences` are NULL for wkvc_workspace_bytes; else `batches` are 1 where there are starts. */
wkvc_status wkvc_saved_bytes(const wkvc_operator* op, int64_t batches, int64_t tokens, int64_t heads,
                             const wkvc_sequences* sequences, int64_t* result);

/* The same as a formula, of one tensor after another: each takes, for every sequence and head, `bytes` for every
 * `tokens` tokens, begun or whole. The sum over sequences and heads is rounded up to 256. With starts each takes, for
 * every head, `bytes` for every `tokens` whole tokens of all sequences together, and, where `tokens` is not 1, for
 * every sequence. */
typedef struct wkvc_saved_info {
  int64_t tokens, bytes;
} wkvc_saved_info;
int32_t wkvc_saved_count(const wkvc_operator* op);
wkvc_status wkvc_saved_at(const wkvc_operator* op, int32_t index, wkvc_saved_info* result);

/* Launches a pass on `stream` (a CUstream or cudaStream_t; NULL: the default stream) of the current device. `tensors`
 * are in the order of wkvc_tensor_at. Allocates nothing, waits for nothing, and can be captured in a CUDA graph. But
 * the first launch with tensors [B,T,H,D] whose data, rows or strides are no multiples of 16 bytes compiles kernels for
 * such, and belongs before any capture. */
wkvc_status wkvc_launch(const wkvc_operator* op, wkvc_pass pass, int64_t batches, int64_t tokens, int64_t heads,
                        const wkvc_tensor* tensors, int32_t count, void* workspace, void* stream, wkvc_checks checks);

/* The same, or with `sequences` the same as wkvc_launch_sequences, with the workspace in two parts: wkvc_saved_bytes
 * that live from the forward pass to the backward pass, and the rest, which only has to live until the pass has run. */
wkvc_status wkvc_launch_parts(const wkvc_operator* op, wkvc_pass pass, int64_t batches, int64_t tokens, int64_t heads,
                              const wkvc_sequences* sequences, const wkvc_tensor* tensors, int32_t count, void* saved,
                              void* scratch, void* stream, wkvc_checks checks);

/* The wkvc command: `argv[0]` is its name. Prints, and returns the exit status. While it runs, SIGINT, SIGTERM and
 * SIGHUP end the program with 128 + their number and leave no temporary files behind. Signals that the program handles
 * or ignores stay the program's. Afterwards all signals, the environment and the handler of warnings are as they were.
 */
int32_t wkvc_command(int32_t argc, char** argv);

#ifdef __cplusplus
}
#endif

#endif
