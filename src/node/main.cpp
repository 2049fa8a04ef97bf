#include "base/terminate.h"
#include "node/commands.h"
#include "node/module_list.h"

int main(int argc, char** argv) {
  coffer::end_in_one_line();
  coffer::node::set_modules(coffer::node::module_list());
  return coffer::node::run_main(argc, argv);
}
