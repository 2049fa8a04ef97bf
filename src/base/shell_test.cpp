#include "base/shell.h"

#include <gtest/gtest.h>

namespace coffer {
namespace {

TEST(ShellWord, QuotesOnlyWhatAShellWouldTouch) {
  EXPECT_EQ(shell_word("/srv/a-b_1.db"), "/srv/a-b_1.db");
  EXPECT_EQ(shell_word("me@db:5432"), "me@db:5432");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("~"), "'~'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace coffer
