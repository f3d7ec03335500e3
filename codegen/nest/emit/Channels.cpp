// Channels put, get and release tiles.
#include "codegen/nest/emit/Expressions.h"
#include "codegen/nest/emit/Operations.h"
#include "codegen/nest/emit/Types.h"

using namespace mlir;

namespace wkvc::nest {

void write_acquire(NestText& text, ChannelOp channel, const std::string& chunk) {
  ChannelOp last = replacement_of(channel) ? replacement_of(channel) : channel;
  text.line("{}.acquire({});", text.name(last.getChannel()), chunk);
}

namespace {

// Returns the columns of a slot that a role's copy puts.
std::string target_text(const NestText& text, PutOp put) {
  std::string whole = fmt::format("{}.at({})", text.name(put.getChannel()), chunk_text(put));
  if (role_of(put).getCopies() == 1) return whole;
  return columns_of_copy(whole, put.getTile().getType().getColumns());
}

void write_rows(NestText& text, PutOp put, StackOp rows) {
  std::string names;
  for (Value row : rows.getRows()) names += ", " + tile_text(text, row);
  text.line("store_rows(role, {}{});", target_text(text, put), names);
}

// A conversion that nothing else uses is made by blocks of 16 columns.
bool goes_by_blocks(PutOp put) {
  return put.getTile().getDefiningOp<ConvertOp>() && is_inlined(put.getTile().getDefiningOp()) &&
         tile_of(put.getChannel()).getLayout() == Layout::swizzled;
}

// Stores a tile, and then the blocks that it has in other places.
void write_set(NestText& text, SetBlocksOp set, const std::string& target) {
  auto below = set.getTile() ? set.getTile().getDefiningOp<SetBlocksOp>() : SetBlocksOp();
  if (below)
    write_set(text, below, target);
  else
    text.line("store(role, {}, {});", target,
              set.getTile() ? text.name(set.getTile()) : register_type(set.getResult().getType()) + "{}");
  text.line("store_{}(role, {}, {});", set.getLevel() ? "level" : "diagonal", target, text.name(set.getBlocks()));
}

void write_stored(NestText& text, PutOp put) {
  const std::string target = target_text(text, put);
  if (auto rows = put.getTile().getDefiningOp<StackOp>()) return write_rows(text, put, rows);
  if (auto set = put.getTile().getDefiningOp<SetBlocksOp>()) return write_set(text, set, target);
  if (auto transpose = put.getTile().getDefiningOp<TransposeOp>())
    return text.line("store_transposed(role, {}, {});", target, tile_text(text, transpose.getTile()));
  if (!goes_by_blocks(put)) return text.line("store(role, {}, {});", target, tile_text(text, put.getTile()));
  text.line("store_blocks(role, {}, [&](ColumnBlock at) {{", target);
  text.line("  return {};", tile_text(text, put.getTile(), Extent::block));
  text.line("}});");
}

bool stores_tiles_of(RoleOp role, Value channel) {
  bool stores = false;
  role.walk([&](StoreOp store) { stores |= channel_of(store.getTile()) == channel; });
  return stores;
}

// Waits for the slot of a tile: a tile that takes the place of another one waits until that has been read by all.
void write_slot(NestText& text, PutOp put, const std::string& chunk) {
  auto op = put.getChannel().getDefiningOp<ChannelOp>();
  if (op.getOver()) {
    const std::string under = text.name(op.getOver());
    text.line("{}.release({});", under, chunk);
    text.line("{}.await_release({});", under, chunk);
  } else if (stores_tiles_of(role_of(put), put.getChannel())) {
    text.line("await_stores_read();");
    text.line("{}.reacquire({});", text.name(put.getChannel()), chunk);
  } else {
    write_acquire(text, op, chunk);
  }
}

void write_put(NestText& text, PutOp put) {
  const std::string chunk = chunk_text(put);
  write_slot(text, put, chunk);
  write_stored(text, put);
  text.line("{}.put({});", text.name(put.getChannel()), chunk);
}

void write_get(NestText& text, GetOp get) {
  text.line("const auto {} = {}.get({});", text.declare(get.getTile()), text.name(get.getChannel()), chunk_text(get));
}

// A tile that its own role stores is released when the next one is put: until then, bulk copies read it.
void write_release(NestText& text, ReleaseOp release) {
  if (stores_tiles_of(role_of(release), release.getChannel())) return;
  text.line("{}.release({});", text.name(release.getChannel()), chunk_text(release));
}

}  // namespace

void add_channels(OperationWriters& writers) {
  writers.add<GetOp>(write_get);
  writers.add<PutOp>(write_put);
  writers.add<ReleaseOp>(write_release);
}

}  // namespace wkvc::nest
