#include "node/commands.h"
#include "node/module_list.h"

int main(int argc, char** argv) {
  coffer::node::set_modules(coffer::node::module_list());
  return coffer::node::run_main(argc, argv);
}
