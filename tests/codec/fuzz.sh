#!/bin/sh
# Builds the decoder's fuzz target with clang and libFuzzer and runs it.
# Usage, from the workspace: tests/codec/fuzz.sh [seconds] [corpus directory]
set -eu
seconds=${1:-60}
corpus=${2:-$(mktemp -d)}
headers=$(bazel info bazel-bin)/client/include
bazel build //client/include:header_files //tests/codec:fuzz_corpus_test
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
sources="common/codec/*.cc common/values/compare.cc
  common/values/element_ops.cc common/values/regex_form.cc
  common/values/hwloc_access.cc common/values/info_list.cc
  common/values/type_table.cc common/values/value.cc
  common/values/value_ops.cc common/values/zlib_access.cc
  tests/codec/decoder_fuzz.cc"
files=$(ls $sources | grep -v -e _test.cc -e _benchmark.cc)
clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined \
  -fno-sanitize-recover=undefined -I. -I"$headers" $files -ldl \
  -o "$work/decoder_fuzz"
bazel-bin/tests/codec/fuzz_corpus_test "$corpus"
"$work/decoder_fuzz" -max_total_time="$seconds" -max_len=4096 "$corpus"
