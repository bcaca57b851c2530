#include "server/pmi/pmi2_wire.h"

#include <gtest/gtest.h>

#include <string>

#include "pmi2.h"

namespace canopy::pmi {
namespace {

TEST(Pmi2WireTest, LengthInAcceptsBlanksOnEitherSide) {
  EXPECT_EQ(LengthIn("12    "), 12u);
  EXPECT_EQ(LengthIn("    12"), 12u);
  EXPECT_EQ(LengthIn(" 12   "), 12u);
  EXPECT_EQ(LengthIn("000012"), 12u);
  EXPECT_EQ(LengthIn(" 65536"), kMaxMessage);
}

TEST(Pmi2WireTest, LengthInRejectsOtherHeaders) {
  for (const char* text : {"      ", "     0", "    -1", "  1 2 ", "0x0010",
                           " 65537", "999999", "cmd=in", "   +12"}) {
    EXPECT_FALSE(LengthIn(text)) << text;
  }
}

TEST(Pmi2WireTest, PairsKeepTheirOrder) {
  const auto pairs = PairsIn("a=1;b=;a=x=y;A-b_9= z\n;");
  ASSERT_TRUE(pairs);
  EXPECT_EQ(*pairs,
            (Pairs{{"a", "1"}, {"b", ""}, {"a", "x=y"}, {"A-b_9", " z\n"}}));
  EXPECT_EQ(PairsIn(""), Pairs());
}

TEST(Pmi2WireTest, DoubledSemicolonsAreReadAsOne) {
  EXPECT_EQ(PairsIn("a=x;;y;b=;;;c=;;;;;"),
            (Pairs{{"a", "x;y"}, {"b", ";"}, {"c", ";;"}}));
}

TEST(Pmi2WireTest, MalformedPairsAreRejected) {
  for (const char* text :
       {"a", "a;", "a=", "a=1", "=1;", "a b=1;", "a=1;;", "a=1;b", ";a=1;"}) {
    EXPECT_FALSE(PairsIn(text)) << text;
  }
  EXPECT_TRUE(PairsIn(std::string(64, 'k') + "=v;"));
  EXPECT_FALSE(PairsIn(std::string(65, 'k') + "=v;"));
}

TEST(Pmi2WireTest, MessagesBecomeRequests) {
  Request request =
      ParseMessage("cmd=kvs-get;thrid=0x7f;jobid=j;srcid=3;key=k;");
  EXPECT_EQ(request.operation, Operation::kGet);
  EXPECT_EQ(request.name, "kvs-get");
  EXPECT_EQ(request.thread, "0x7f");
  EXPECT_EQ(request.job, "j");
  EXPECT_EQ(request.key, "k");
  EXPECT_EQ(request.source, Rank{3});
  EXPECT_FALSE(ParseMessage("cmd=kvs-get;srcid=-1;key=k;").source);
  request = ParseMessage("cmd=kvs-put;key=k;value=a;;b;");
  EXPECT_EQ(request.operation, Operation::kPut);
  EXPECT_EQ(request.value, "a;b");
  request = ParseMessage("cmd=name-publish;name=s;port=p;infokeycount=0;");
  EXPECT_EQ(request.operation, Operation::kPublish);
  EXPECT_EQ(request.key, "s");
  EXPECT_EQ(request.value, "p");
  EXPECT_TRUE(ParseMessage("cmd=fullinit;threaded=TRUE;").is_threaded);
  EXPECT_TRUE(ParseMessage("cmd=info-getnodeattr;key=k;wait=TRUE;").waits);
  EXPECT_FALSE(ParseMessage("cmd=info-getnodeattr;key=k;wait=FALSE;").waits);
}

TEST(Pmi2WireTest, AnAbortEndsTheJobOrOnlyTheCaller) {
  Request request = ParseMessage("cmd=abort;isworld=TRUE;msg=why;");
  EXPECT_EQ(request.exit_code, 1);
  EXPECT_FALSE(request.aborts_alone);
  EXPECT_EQ(request.value, "why");
  EXPECT_TRUE(ParseMessage("cmd=abort;isworld=FALSE;msg=;").aborts_alone);
  request = ParseMessage("cmd=abort;exitcode=-1;message=why;");
  EXPECT_EQ(request.exit_code, -1);
  EXPECT_FALSE(request.aborts_alone);
  EXPECT_EQ(request.value, "why");
}

TEST(Pmi2WireTest, AMessageWithoutACommandIsParsedWithAnEmptyName) {
  for (const char* text :
       {"", "cmd", "cmd=;", "cmd=x", "key=k;cmd=x;", "cmd=a b;", "cmd=a;;b;"}) {
    EXPECT_EQ(ParseMessage(text).name, "") << text;
  }
}

TEST(Pmi2WireTest, ACommandWithMalformedPairsIsMalformed) {
  for (const std::string& rest :
       {std::string("key"), std::string("key=k"), std::string("=;"),
        "thrid=" + std::string(300, 'x') + ";"}) {
    const Request request = ParseMessage("cmd=kvs-get;" + rest);
    EXPECT_EQ(request.name, "kvs-get");
    EXPECT_TRUE(request.malformed) << rest;
  }
}

TEST(Pmi2WireTest, EachCommandHasItsFormOfAnswer) {
  Request request = ParseMessage("cmd=kvs-get;thrid=7;key=k;");
  EXPECT_EQ(AnswerMessage(request, Reply::Of("a;b")),
            "    56cmd=kvs-get-response;thrid=7;rc=0;found=TRUE;value=a;;b;");
  EXPECT_EQ(AnswerMessage(request, {}),
            "    46cmd=kvs-get-response;thrid=7;rc=0;found=FALSE;");
  EXPECT_EQ(AnswerMessage(request, Reply::Error(PMI2_ERR_OTHER, "why")),
            "    46cmd=kvs-get-response;thrid=7;rc=14;errmsg=why;");
  EXPECT_EQ(AnswerMessage(ParseMessage("cmd=kvs-fence;"), {}),
            "    28cmd=kvs-fence-response;rc=0;");
  EXPECT_EQ(AnswerMessage(ParseMessage("cmd=job-getid;"), Reply::Of("j")),
            "    36cmd=job-getid-response;rc=0;jobid=j;");
  EXPECT_EQ(AnswerMessage(ParseMessage("cmd=job-connect;jobid=j;"), {}),
            "    44cmd=job-connect-response;rc=0;kvscopy=FALSE;");
  EXPECT_EQ(
      AnswerMessage(ParseMessage("cmd=name-lookup;name=s;"), Reply::Of("p")),
      "    56cmd=name-lookup-response;rc=0;found=TRUE;value=p;port=p;");
  EXPECT_EQ(AnswerMessage(ParseMessage("cmd=dance;"),
                          Reply::Error(PMI2_ERR_OTHER, "not_supported")),
            "    46cmd=dance-response;rc=14;errmsg=not_supported;");
}

}  // namespace
}  // namespace canopy::pmi
