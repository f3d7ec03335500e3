#!/usr/bin/env bash
# Builds wkvc, emits the RWKV-7 kernel, checks it on real activations and, on a machine with a GPU, times it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$wkvc_root"

echo "demo: building"
wkvc_build dev wkvc

wkvc=build/bin/wkvc
kernel=build/demo/rwkv7.cu
mkdir -p build/demo
"$wkvc" emit rwkv7 --stage cuda -o "$kernel"
echo "demo: the kernel is in $wkvc_root/$kernel ($(wc -l <"$kernel") lines)"

echo "demo: checking it against the float64 recurrence on activations of a trained model"
"$wkvc" check rwkv7 --input tests/data/rwkv7_layer1_head0.safetensors | tee build/demo/check.txt

if grep -q ' on cuda,' build/demo/check.txt; then
  echo "demo: timing it at batch 8, 4096 tokens, 64 heads"
  "$wkvc" bench rwkv7 --shape 8,4096,64
else
  echo "demo: no H100 or H200 here, so the check ran on the CPU and there is nothing to time"
fi
