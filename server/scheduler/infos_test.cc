#include "server/scheduler/infos.h"

#include <gtest/gtest.h>

#include <string>

#include "pmix_common.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;
using Infos = google::protobuf::RepeatedPtrField<v1::Info>;

InfoList Sample() {
  InfoList inner;
  inner.Add("inner", Value::Uint32(7));
  InfoList infos;
  infos.Add("flag", Value::Bool(true), PMIX_INFO_REQD);
  infos.Add("text", Value::String("a\xff z"));
  infos.Add("int", Value::Int(-5));
  infos.Add("int8", Value::Integer(PMIX_INT8, static_cast<uint64_t>(-3)));
  infos.Add("status", Value::Status(-188));
  infos.Add("uint64", Value::Uint64(UINT64_MAX));
  infos.Add("size", Value::Size(9));
  infos.Add("rank", Value::Rank(3));
  infos.Add("time", Value::Time(1234));
  infos.Add("double", Value::Double(1.5));
  infos.Add("float", Value::Float(0.5f));
  infos.Add("bytes", Value::ByteObject(std::string("\0x", 2)));
  infos.Add("proc", Value::Proc({"job", 4}));
  infos.Add("infos", Value::InfoArray(inner));
  const ProcId procs[] = {{"job", 1}, {"job", 2}};
  infos.Add("procs", Value::ProcArray(procs));
  infos.Add("none", Value());
  return infos;
}

TEST(InfosTest, InfosSurviveARoundTrip) {
  const InfoList infos = Sample();
  Infos there;
  PutInfos(infos.span(), &there);
  ASSERT_EQ(there.size(), static_cast<int>(infos.size()));
  EXPECT_TRUE(there[0].required());
  EXPECT_TRUE(there[0].value().flag());
  EXPECT_EQ(there[2].value().type(), v1::DATA_TYPE_INT);
  const Result<InfoList> back = GetInfos(there);
  ASSERT_TRUE(back.ok()) << back.status().message();
  for (size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(KeyOf((*back)[i]), KeyOf(infos[i]));
    EXPECT_EQ(Value::FromC((*back)[i].value), Value::FromC(infos[i].value))
        << KeyOf(infos[i]);
    EXPECT_EQ((*back)[i].flags, infos[i].flags) << KeyOf(infos[i]);
  }
}

TEST(InfosTest, AValueWithoutATypeGetsTheTypeOfItsKind) {
  Infos infos;
  v1::Info* const info = infos.Add();
  info->set_key("n");
  info->mutable_value()->set_unsigned_integer(5);
  const Result<InfoList> got = GetInfos(infos);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ((*got)[0].value.type, PMIX_UINT64);
  EXPECT_EQ(got->FindUint("n"), 5u);
}

TEST(InfosTest, MalformedInfosAreRejected) {
  const auto refused = [](auto&& make) {
    Infos infos;
    v1::Info* const info = infos.Add();
    info->set_key("key");
    make(info);
    return !GetInfos(infos).ok();
  };
  EXPECT_TRUE(refused([](v1::Info* i) { i->clear_key(); }));
  EXPECT_TRUE(refused([](v1::Info* i) { i->set_key(std::string(512, 'k')); }));
  EXPECT_TRUE(refused([](v1::Info* i) {
    i->mutable_value()->set_type(v1::DATA_TYPE_UINT8);
    i->mutable_value()->set_unsigned_integer(256);
  }));
  EXPECT_TRUE(refused([](v1::Info* i) {
    i->mutable_value()->set_type(static_cast<v1::DataType>(9999));
    i->mutable_value()->set_unsigned_integer(1);
  }));
  EXPECT_TRUE(refused(
      [](v1::Info* i) { i->mutable_value()->set_encoded("\xff\xff\xff"); }));
  EXPECT_TRUE(refused([](v1::Info* i) {
    i->mutable_value()->set_text(std::string("a\0b", 3));
  }));
  EXPECT_TRUE(refused([](v1::Info* i) {
    for (int depth = 0; depth < 20; ++depth) {
      i = i->mutable_value()->mutable_infos()->add_infos();
      i->set_key("key");
    }
  }));
}

// Each info takes half a KiB. A few bytes of a message must not use an
// unlimited amount of memory.
TEST(InfosTest, TheTotalNumberOfInfosIsLimited) {
  const auto nested = [](int lists, int infos) {
    Infos all;
    for (int i = 0; i < lists; ++i) {
      v1::Info* const list = all.Add();
      list->set_key("l");
      for (int j = 0; j < infos; ++j) {
        list->mutable_value()->mutable_infos()->add_infos()->set_key("k");
      }
    }
    return all;
  };
  EXPECT_TRUE(GetInfos(nested(8, 511)).ok());
  EXPECT_FALSE(GetInfos(nested(8, 512)).ok());
  EXPECT_FALSE(GetInfos(nested(1, 513)).ok());
}

}  // namespace
}  // namespace canopy::scheduler
