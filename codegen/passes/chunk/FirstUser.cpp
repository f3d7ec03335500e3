#include "codegen/passes/chunk/FirstUser.h"

using namespace mlir;

namespace wkvc {

void move_to_first_user(Operation* op) {
  Operation* first = nullptr;
  for (Operation* user : op->getUsers())
    if (!first || user->isBeforeInBlock(first)) first = user;
  if (first) op->moveBefore(first);
}

}  // namespace wkvc
