#!/usr/bin/env bash
# Builds wkvc, emits the RWKV-7 kernel, checks it on real activations and, on a machine with a GPU, times it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$wkvc_root"

echo "demo: building"
wkvc_build dev

wkvc=build/bin/wkvc
kernel=build/demo/rwkv7.cu
mkdir -p build/demo
"$wkvc" emit rwkv7 --stage cuda -o "$kernel"
echo "demo: the kernel is in $wkvc_root/$kernel ($(wc -l <"$kernel") lines)"

gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
device=cpu
[ -z "$gpu" ] || device=cuda
echo "demo: checking it on ${gpu:-the CPU, no GPU found}, against the float64 recurrence on activations of a trained model"
"$wkvc" check rwkv7 --input tests/data/rwkv7_layer1_head0.safetensors --device "$device"

if [ "$device" = cuda ]; then
  echo "demo: timing it at batch 8, 4096 tokens, 64 heads"
  "$wkvc" bench rwkv7 --shape 8,4096,64
fi
