#include <mlir/IR/MLIRContext.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codegen/chunk/Chunk.h"
#include "codegen/compiler.h"
#include "codegen/emit/Buffers.h"
#include "codegen/ir/Text.h"
#include "codegen/missing_range.h"
#include "codegen/nest/passes/Places.h"
#include "codegen/reported_name.h"
#include "codegen/warp/Warp.h"
#include "runtime/error.h"

using namespace mlir;

namespace wkvc {

namespace {

using Json = nlohmann::ordered_json;

Json contraction(chunk::DotOp op) {
  auto shape = cast<RankedTensorType>(op.getType()).getShape();
  int64_t depth = op.getXDim() ? chunk::columns(op.getX()) : chunk::rows(op.getX());
  auto slice = op->getAttrOfType<StringAttr>("slice");
  return {{"into", reported_name(op.getResult())},
          {"x", name_of(op.getX()).str()},
          {"y", name_of(op.getY()).str()},
          {"operands", dtype_text(chunk::element(op.getX()))},
          {"accumulator", "f32"},
          {"size", {shape[0], shape[1], depth}},
          {"slice", slice ? slice.getValue().str() : ""}};
}

// null where there is none.
Json missing_report(const Source& source, const Config& config) {
  const auto missing = missing_range(source, config);
  if (!missing) return nullptr;
  Json inputs = Json::array();
  for (const MissingRange::Input& input : missing->inputs)
    inputs.push_back(
        {{"input", input.name}, {"range", "-inf to inf"}, {"declare", ".in(lo, hi)"}, {"at", input.where}});
  return {{"contractions_in_f32", missing->contractions},
          {"without_bound", missing->operands},
          {"inputs", inputs},
          {"text", text_of(*missing)}};
}

Json entry_of(const Buffer& buffer, warp::KernelOp kernel) {
  auto shape = buffer.type ? buffer.type.getShape().vec() : std::vector<int64_t>();
  return {{"kernel", kernel.getSymName().str()},
          {"buffer", buffer.name},
          {"offset", buffer.offset},
          {"bytes", buffer.bytes},
          {"dtype", buffer.type ? dtype_text(buffer.type.getElementType()) : "f32"},
          {"shape", shape},
          {"lifetime", {buffer.from, buffer.to}}};
}

// The slots of a nest's channel, which nothing else uses.
Json entry_of(nest::ChannelOp channel, nest::KernelOp kernel) {
  const nest::TileType tile = nest::tile_of(channel.getChannel());
  return {{"kernel", kernel.getSymName().str()},
          {"buffer", name_of(channel.getChannel()).str()},
          {"offset", *channel.getOffset()},
          {"bytes", channel.getDepth() * tile.bytes()},
          {"dtype", dtype_text(tile.getElement())},
          {"shape", {channel.getDepth(), tile.getRows(), tile.getColumns()}},
          {"lifetime", nullptr}};
}

// Returns an entry for each buffer or channel in shared memory that the kernels of a text of the stage warp have.
Json shared_memory(ModuleOp kernels) {
  Json entries = Json::array();
  kernels.walk([&](warp::KernelOp kernel) {
    for (const Buffer& buffer : buffers_of(kernel)) entries.push_back(entry_of(buffer, kernel));
  });
  kernels.walk([&](nest::KernelOp kernel) {
    nest::place_channels(kernel);
    for (auto channel : kernel.getBody().getOps<nest::ChannelOp>()) entries.push_back(entry_of(channel, kernel));
  });
  return entries;
}

}  // namespace

std::string explain_json(const Source& source, const Config& config) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<chunk::ChunkDialect, warp::WarpDialect, nest::NestDialect>();
  if (is_token_kernel(source, config)) return Json{{"sram", Json::array()}, {"contractions", Json::array()}}.dump();
  Json report{{"sram", nullptr}, {"contractions", nullptr}};
  if (source.stage <= Stage::placed) {
    report["contractions"] = Json::array();
    auto chunk_stage = parse(lower_to(source, std::max(source.stage, Stage::chunk), config), context);
    chunk_stage->walk([&](chunk::DotOp op) {
      // The same as in the plain program before it.
      if (!op->getParentOfType<chunk::ProgramOp>().getRefused()) report["contractions"].push_back(contraction(op));
    });
  }
  if (Json missing = missing_report(source, config); !missing.is_null()) report["missing_range"] = missing;
  if (source.stage <= Stage::warp) {
    auto warp_stage = parse(lower_to(source, Stage::warp, config), context);
    report["sram"] = shared_memory(*warp_stage);
  }
  return report.dump();
}

}  // namespace wkvc
