#include "codegen/nest/emit/Emit.h"

#include "codegen/ir/Where.h"
#include "codegen/nest/emit/Header.h"
#include "codegen/nest/emit/Operations.h"
#include "codegen/nest/emit/Types.h"
#include "codegen/nest/passes/Places.h"
#include "codegen/target/Target.h"

using namespace mlir;

namespace wkvc::nest {

namespace {

void reserve_names(Identifiers& names) {
  for (const char* used : {"args", "maps", "block", "role", "at", "c", "chunks", "tokens", "guard"}) names.unique(used);
}

void write_tiles(NestText& text) {
  for (size_t i = 0; i < text.manifest.maps.size(); ++i) {
    const std::string& tensor = text.manifest.maps[i];
    text.line("const TokenTiles {} = token_tiles<{}>(maps, {}, block);", text.names.unique(tiles_of(tensor)), i,
              text.tensors.of(tensor).variable);
  }
}

void write_channels(NestText& text) {
  for (ChannelOp channel : text.kernel.getBody().getOps<ChannelOp>())
    text.line("const Channel<{}, {}> {}{{block, {}, {}}};", view_type(tile_of(channel.getChannel())),
              channel.getDepth(), text.declare(channel.getChannel()), *channel.getOffset(), *channel.getMbarriers());
}

// Returns how many arrivals say that a tile is there: one of a copy, or one of each warp that puts.
int64_t puts_of(ChannelOp channel) {
  for (Operation* user : channel.getChannel().getUsers())
    if (isa<LoadOp>(user)) return 1;
  return all_warps(producers_of(channel).front());
}

int64_t releases_of(ChannelOp channel) {
  int64_t warps = 0;
  for (RoleOp role : consumers_of(channel)) warps += all_warps(role);
  return warps;
}

void write_beginning(NestText& text) {
  text.line("if (block.warp == 0) {{");
  text.lines.open();
  for (ChannelOp channel : text.kernel.getBody().getOps<ChannelOp>())
    text.line("{}.begin({}, {});", text.name(channel.getChannel()), puts_of(channel), releases_of(channel));
  text.lines.close();
  text.line("begin_roles(block);");
}

// A thread has as many registers when the kernel begins as all of them may have.
void write_registers(NestText& text, RoleOp role) {
  const auto registers = static_cast<int64_t>(role.getRegisters());
  const int64_t before = sm_90a.sm.registers / (sm_90a.warp.threads * text.manifest.warps);
  if (registers != before) text.line("block.{}_registers<{}>();", registers < before ? "give" : "take", registers);
}

// The names of a role's copies and warps, and what they do.
void write_role(NestText& text, RoleOp role) {
  const NamesOfBlock names(text.names);
  write_registers(text, role);
  text.line("const Role role = role_of(block.warp, {}, {});", first_warp_of(role), role.getWarps());
  write_body(text, role.getBody());
  if (role.getBody().getOps<StoreStateOp>().empty()) write_vote(text);
  if (starts_stores(role)) text.line("await_stores();");
}

void write_roles(NestText& text) {
  for (RoleOp role : text.kernel.getBody().getOps<RoleOp>()) {
    const int64_t first = first_warp_of(role);
    const int64_t end = first + all_warps(role);
    const std::string condition = end == text.manifest.warps ? "" : fmt::format("if (block.warp < {}) ", end);
    const std::string line = fmt::format("{}{{  // {}", condition, role.getSymName().str());
    if (first == 0) {
      text.line("{}", line);
      text.lines.open();
    } else {
      text.lines.reopen("} else " + line);
    }
    write_role(text, role);
  }
  text.lines.close();
}

}  // namespace

std::string emit_cuda(KernelOp kernel) {
  if (!kernel.getRecurrence())
    user_error_at(kernel, "'{}' is for no recurrence, so that no kernel can be emitted: say `for`",
                  kernel.getSymName().str());
  const int64_t shared_bytes = place_channels(kernel);
  NestText text(kernel, manifest_of(kernel, shared_bytes));
  const Manifest& manifest = text.manifest;
  reserve_names(text.names);
  text.line("{}#include \"wkvc/nest.h\"\n\nusing namespace wkvc;\n\nWKVC_NEST_KERNEL({}, {}, {}, {}) {{",
            header_comment(kernel, manifest), manifest.kernel, manifest.tensors.size(), manifest.maps.size(),
            manifest.warps);
  text.lines.open();
  text.tensors.declare(manifest.tensors, text.names, text.lines);
  write_tiles(text);
  text.line("const long long tokens = tokens_of(args, block);");
  text.line("const int chunks = chunk_count<{}>(tokens);", manifest.chunk);
  write_guard(text);
  write_channels(text);
  write_beginning(text);
  write_roles(text);
  text.lines.close();
  return text.lines.text();
}

}  // namespace wkvc::nest
