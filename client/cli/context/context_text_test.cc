#include "client/cli/context/context_text.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::cli {
namespace {

void Fill(v1::Context* context) {
  context->set_name("a");
  context->set_version(1);
  context->set_created(1795996023);
  context->set_overlay_id("0123456789abcdef");
  context->set_cluster_key(std::string("\0\xff key", 6));
  context->set_security("files");
  context->set_tls_ca("/ca");
  context->set_tls_cert("/cert \"one\"\n");
  context->set_tls_key("/key");
  context->set_radix(4294967295u);
  context->set_launch_agent("ssh {host}");
  context->set_emulated(true);
  context->set_host_module("unix:/s");
  context->set_host_module_fallback(true);
}

void Fill(bootstrap::v1::NodeInfo* node) {
  node->set_name("n\xc3\xb6");
  node->add_aliases("n1");
  node->add_aliases("");
  node->set_address("127.0.0.1:1");
  node->set_control_socket("/c");
  node->set_slots(2);
  node->set_pid(18446744073709551615u);
  node->set_version("0.1.0");
  node->set_topology("\xfe");
  node->set_machine("vm");
  node->set_runtime_dir("/r");
  node->set_control_address("127.0.0.1:2");
}

v1::Context Full() {
  v1::Context context;
  Fill(&context);
  Fill(context.add_members());
  context.add_members()->set_name("second");
  v1::Launcher* const launcher = context.mutable_launcher();
  launcher->set_pid(-1);
  launcher->set_session(4711);
  launcher->set_directory("/\xff");
  launcher->set_command("a b");
  return context;
}

TEST(ContextTextTest, EveryFieldSurvives) {
  const v1::Context context = Full();
  const Result<v1::Context> read = ContextOf(ContextText(context));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->SerializeAsString(), context.SerializeAsString());
}

TEST(ContextTextTest, ALauncherIsThereOnlyIfItIsSet) {
  v1::Context context = Full();
  context.clear_launcher();
  const std::string text = ContextText(context);
  EXPECT_EQ(text.find("launcher"), std::string::npos);
  EXPECT_FALSE(ContextOf(text)->has_launcher());
}

// The form of earlier releases.
TEST(ContextTextTest, DefaultsArePresentAndLongNumbersAreTexts) {
  v1::Context context;
  context.add_members()->set_pid(5);
  EXPECT_EQ(ContextText(context), R"({
 "name": "",
 "version": 0,
 "created": "0",
 "overlay_id": "",
 "cluster_key": "",
 "security": "",
 "tls_ca": "",
 "tls_cert": "",
 "tls_key": "",
 "radix": 0,
 "launch_agent": "",
 "members": [
  {
   "name": "",
   "aliases": [],
   "address": "",
   "control_socket": "",
   "slots": 0,
   "pid": "5",
   "version": "",
   "topology": "",
   "machine": "",
   "runtime_dir": "",
   "control_address": ""
  }
 ],
 "emulated": false,
 "host_module": "",
 "host_module_fallback": false
}
)");
}

TEST(ContextTextTest, MembersMayBeUnknownOrAbsentOrNull) {
  const auto read = ContextOf(
      R"({"new": [{"a": 1}], "name": null, "radix": "8", "created": -3,
          "members": [{"pid": 7, "more": {}}]})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->name(), "");
  EXPECT_EQ(read->radix(), 8u);
  EXPECT_EQ(read->created(), -3);
  EXPECT_EQ(read->members(0).pid(), 7u);
}

TEST(ContextTextTest, RefusesMembersOfOtherTypes) {
  for (const char* member :
       {R"("name": 1)", R"("name": [])", R"("version": -1)",
        R"("version": 4294967296)", R"("version": 1.5)", R"("version": "1x")",
        R"("version": "")", R"("version": {})", R"("emulated": "true")",
        R"("emulated": 1)", R"("overlay_id": "Zg")", R"("overlay_id": 1)",
        R"("launcher": 1)", R"("launcher": {"pid": "a"})"}) {
    const std::string text =
        "{" + std::string(member) + R"(, "members": [{}]})";
    EXPECT_EQ(ContextOf(text).code(), kErrUnpackFailure) << text;
  }
  for (const char* members :
       {"{}", "1", "[1]", R"([{"aliases": [1]}])", R"([{"aliases": "a"}])",
        R"([{"slots": null},0])", "[]", "null"}) {
    const std::string text = R"({"members": )" + std::string(members) + "}";
    EXPECT_EQ(ContextOf(text).code(), kErrUnpackFailure) << text;
  }
}

}  // namespace
}  // namespace canopy::cli
