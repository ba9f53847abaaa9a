// SPDX-License-Identifier: Apache-2.0
// protoc-gen-weft: what `protoc --weft_out=DIR` runs.
#include <google/protobuf/compiler/plugin.h>

#include "protobuf/generator/generator.hpp"

int main(int argc, char** argv) {
  weft::protobuf::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
