/* The same from C, on the CPU: any framework can do as much with its pointers and strides. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "jit/wkvc.h"

enum { tokens = 20, width = 32 };

int main(void) {
  wkvc_operator* op = NULL;
  if (wkvc_prepare("rwkv7", "--head 32 --io f32 --mma f32", WKVC_HOST, &op) != WKVC_OK) {
    fprintf(stderr, "%s\n", wkvc_message());
    return 2;
  }
  const int64_t shape[4] = {1, tokens, 1, width};
  const int32_t count = wkvc_tensor_count(op, WKVC_FORWARD);
  wkvc_tensor tensors[16] = {0}; /* states are left out */
  float* o = NULL;
  for (int32_t i = 0; i < count && i < 16; ++i) {
    wkvc_tensor_info info;
    if (wkvc_tensor_at(op, WKVC_FORWARD, i, &info) != WKVC_OK) return 3;
    if (info.is_optional) continue;
    float* data = malloc(sizeof(float) * tokens * width);
    for (int j = 0; j < tokens * width; ++j) data[j] = info.is_result ? NAN : 0.1f;
    if (info.is_result) o = data;
    tensors[i] = (wkvc_tensor){data, shape, NULL, 4, WKVC_F32};
  }
  const wkvc_status status = wkvc_launch(op, WKVC_FORWARD, 1, tokens, 1, tensors, count, NULL, NULL,
                                         WKVC_CHECK_MEMORY);
  if (status != WKVC_OK) {
    fprintf(stderr, "%s\n", wkvc_message());
    return 2;
  }
  printf("o of the first token %.6f, of the last %.6f\n", o[0], o[tokens * width - 1]);
  const int right = fabsf(o[0] - 0.032f) < 1e-6f && isfinite(o[tokens * width - 1]);
  for (int32_t i = 0; i < count && i < 16; ++i) free(tensors[i].data);
  wkvc_release(op);
  return right ? 0 : 1;
}
