#include "app/command.h"

int main(int argc, char** argv) {
  return coffer::app::run_main(argc, argv);
}
