// Operations read tensors, and write them.
#include "codegen/emit/Header.h"
#include "codegen/nest/emit/Expressions.h"
#include "codegen/nest/emit/Operations.h"
#include "codegen/nest/emit/Types.h"

using namespace mlir;

namespace wkvc::nest {

bool starts_stores(RoleOp role) {
  bool stores = false;
  role.walk([&](StoreOp) { stores = true; });
  return stores;
}

void write_load(NestText& text, LoadOp load, const std::string& chunk) {
  write_acquire(text, load.getChannel().getDefiningOp<ChannelOp>(), chunk);
  text.line("load({}, {}, {});", tiles_of(load.getTensor()), text.name(load.getChannel()), chunk);
}

namespace {

// Loads behind each other have one condition.
void write_loads(NestText& text, LoadOp first) {
  const uint64_t ahead = first.getAhead();
  if (auto before = dyn_cast_or_null<LoadOp>(first->getPrevNode()); before && before.getAhead() == ahead) return;
  if (ahead == 0)
    text.line("if (role.warp == 0) {{");
  else
    text.line("if (role.warp == 0 && c + {} < chunks) {{", ahead);
  text.lines.open();
  for (auto load = first; load && load.getAhead() == ahead; load = dyn_cast_or_null<LoadOp>(load->getNextNode()))
    write_load(text, load, chunk_text(load, ahead));
  text.lines.close();
}

void write_store(NestText& text, StoreOp store) {
  const auto columns = store.getTile().getType().getColumns();
  const std::string column0 =
      store.getTile().getDefiningOp<PartOp>() ? fmt::format("{} * role.copy", columns) : std::string("0");
  const std::string current = chunk_text(store);
  const uint64_t behind = store.getBehind();
  const std::string exists = behind == 0 ? std::string() : fmt::format(" && {} >= {}", current, behind);
  const std::string chunk = behind == 0 ? current : fmt::format("{} - {}", current, behind);
  text.line("if (role.warp == 0{}) store({}, {}, {}, {});", exists, tiles_of(store.getTensor()),
            shared_text(text, store.getTile()), chunk, column0);
}

void write_tokens(NestText& text, TokensOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  text.line("const auto {} = load_tokens<{}, {}>({}, block, tokens, {});", text.declare(op.getResult()),
            name_of(tensor.spec.dtype), op.getResult().getType().getColumns(), tensor.variable,
            chunk_text(op, op.getAhead()));
}

void write_load_state(NestText& text, LoadStateOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  const std::string name = text.declare(op.getResult());
  text.line("{} {};", register_type(op.getResult().getType()), name);
  text.line("load_state{}({}, {}, block, role.row0_of_all());", stored_as(tensor.spec), name, tensor.variable);
}

void write_store_state(NestText& text, StoreStateOp op) {
  const NamedTensor& tensor = text.tensors.of(op.getTensor());
  write_vote_on(text, op);
  text.line("store_state{}({}, {}, block, role.row0_of_all());", stored_as(tensor.spec), text.name(op.getTile()),
            tensor.variable);
}

}  // namespace

void add_tensors(OperationWriters& writers) {
  writers.add<LoadOp>(write_loads);
  writers.add<LoadStateOp>(write_load_state);
  writers.add<StoreOp>(write_store);
  writers.add<StoreStateOp>(write_store_state);
  writers.add<TokensOp>(write_tokens);
}

}  // namespace wkvc::nest
