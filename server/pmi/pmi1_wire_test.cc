#include "server/pmi/pmi1_wire.h"

#include <gtest/gtest.h>

namespace canopy::pmi {
namespace {

TEST(Pmi1WireTest, LinesAreParsedIntoRequests) {
  Request request = ParseLine("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(request.operation, Operation::kInit);
  EXPECT_EQ(request.value, "1");
  request = ParseLine("cmd=put kvsname=k key=a value=x y=z ");
  EXPECT_EQ(request.operation, Operation::kPut);
  EXPECT_EQ(request.job, "k");
  EXPECT_EQ(request.key, "a");
  EXPECT_EQ(request.value, "x y=z ");
  request = ParseLine("cmd=publish_name service=s port=p");
  EXPECT_EQ(request.operation, Operation::kPublish);
  EXPECT_EQ(request.key, "s");
  EXPECT_EQ(request.value, "p");
  EXPECT_EQ(ParseLine("cmd=abort exitcode=7").exit_code, 7);
  EXPECT_EQ(ParseLine("mcmd=spawn").operation, Operation::kSpawn);
}

TEST(Pmi1WireTest, ALineWithoutACommandIsParsedWithAnEmptyName) {
  EXPECT_EQ(ParseLine("").name, "");
  EXPECT_EQ(ParseLine("garbage").name, "");
  EXPECT_EQ(ParseLine("cmd=").name, "");
}

TEST(Pmi1WireTest, TheAnswerToAnUnknownCommandContainsItsName) {
  const Reply reply = Reply::Error(14, "not_supported");
  EXPECT_EQ(AnswerLine(ParseLine("cmd=dance"), reply),
            "cmd=dance_result rc=-1 msg=not_supported info=not_supported\n");
  EXPECT_EQ(AnswerLine(ParseLine("cmd=create_kvs"), reply),
            "cmd=newkvs rc=-1 msg=not_supported info=not_supported\n");
}

TEST(Pmi1WireTest, TheAnswerToInitContainsTheVersion) {
  const Request init = ParseLine("cmd=init pmi_version=2 pmi_subversion=0");
  EXPECT_EQ(AnswerLine(init, Reply::Of("2")),
            "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n");
  Reply refusal = Reply::Of("1");
  refusal.code = 1;
  EXPECT_EQ(AnswerLine(init, refusal),
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n");
}

}  // namespace
}  // namespace canopy::pmi
