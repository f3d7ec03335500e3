// The driver, kernels and programs on a GPU; ctest labels it gpu.
#include "runtime/launch/internals.h"
#include "runtime/launch/measure.h"
#include "tests/runtime/cuda/gpu_problem.h"
#include "tests/runtime/expect_error.h"
#include "tests/runtime/tiny_program.h"
#include "tests/runtime/tiny_training.h"

namespace wkvc {
namespace {

TEST_F(Gpu, TellsItsProperties) {
  const DeviceProperties properties = Device::open(0).properties();
  EXPECT_FALSE(properties.name.empty());
  EXPECT_GT(properties.sm_count, 0);
  EXPECT_GT(properties.l2_bytes, 0);
  EXPECT_GT(properties.memory_bytes, 0);
  EXPECT_GE(properties.max_shared_bytes, 48 * 1024);
  EXPECT_GE(properties.compute_major, 5);
}

TEST_F(Gpu, UploadsAndDownloads) {
  const Device device = Device::open(0);
  const HostTensor host = counted({3, 5}, 2);
  const HostTensor back = DeviceTensor::upload(device, host).download();
  EXPECT_EQ(back.shape(), host.shape());
  for (std::size_t i = 0; i < host.size(); ++i) EXPECT_EQ(back.get(i), host.get(i));
  EXPECT_EQ(DeviceTensor::upload(device, HostTensor(DType::f16, {0, 4})).download().size(), 0U);
}

TEST_F(Gpu, RunsAKernelOnAStream) {
  const Kernel kernel = Kernel::load(tiny_kernel(), Target::cuda);
  EXPECT_GT(kernel.registers(), 0);
  const Device device = Device::current();
  const Stream stream(device);
  const Problem p(device, {2, 3, 4}, stream.handle());
  kernel.launch(p.tensors(), p.size, stream.handle());
  const HostTensor o = p.o.download(stream.handle()), last = p.last.download(stream.handle());
  for (std::size_t i = 0; i < o.size(); ++i) EXPECT_EQ(o.get(i), p.host_x.get(i) + p.host_s.get(i % 32));
  for (std::size_t i = 0; i < last.size(); ++i) EXPECT_EQ(last.get(i), p.host_initial.get(i) + 3);
}

TEST_F(Gpu, WithoutTokensTheStateIsCarriedOver) {
  const Kernel kernel = Kernel::load(tiny_kernel(), Target::cuda);
  const Device device = Device::current();
  const Problem p(device, {2, 0, 3}, nullptr);
  std::vector<Tensor> tensors = p.tensors();
  kernel.launch(tensors, p.size);
  const HostTensor carried = p.last.download();
  for (std::size_t i = 0; i < carried.size(); ++i) EXPECT_EQ(carried.get(i), p.host_initial.get(i));
  tensors[3] = Tensor{};
  kernel.launch(tensors, p.size);
  const HostTensor zero = p.last.download();
  for (std::size_t i = 0; i < zero.size(); ++i) EXPECT_EQ(zero.get(i), 0);
}

TEST_F(Gpu, RunsAProgramAsTheHostDoes) {
  const LaunchSize size{2, 11, 3};
  const Program on_gpu = Program::load(tiny_program(), Target::cuda);
  const Program on_host = Program::load(tiny_program(), Target::host);
  TinyTraining training(size);
  std::map<std::string, DeviceTensor> uploaded = device_internals(on_gpu, Device::current(), size);
  std::map<std::string, HostTensor> internals = host_internals(on_host, size);
  NamedTensors gpu, host;
  for (auto& [name, tensor] : training.tensors) {
    uploaded.emplace(name, DeviceTensor::upload(Device::current(), tensor));
    host[name] = tensor.view();
  }
  for (auto& [name, tensor] : uploaded) gpu[name] = tensor.view();
  for (auto& [name, tensor] : internals) host[name] = tensor.view();
  on_gpu.launch(gpu, size);
  on_host.launch(host, size);
  for (const auto& [name, tensor] : training.tensors) {
    const HostTensor result = uploaded.at(name).download();
    for (std::size_t i = 0; i < tensor.size(); ++i) EXPECT_NEAR(result.get(i), tensor.get(i), 1e-3) << name;
  }
}

TEST_F(Gpu, TooMuchSharedMemoryIsRefusedAtLoad) {
  std::string source = tiny_kernel();
  const std::string shared = R"("shared_bytes":0)";
  source.replace(source.find(shared), shared.size(), R"("shared_bytes":100000000)");
  expect_error([&] { Kernel::load(source, Target::cuda); }, {"100000000", "shared memory", "smaller budget"});
}

TEST_F(Gpu, ManyBytesOfSharedMemoryCanBeAskedFor) {
  std::string source = tiny_kernel();
  const std::string shared = R"("shared_bytes":0)";
  source.replace(source.find(shared), shared.size(), R"("shared_bytes":200000)");
  const Kernel kernel = Kernel::load(source, Target::cuda);
  const Problem p(Device::current(), {1, 1, 1}, nullptr);
  kernel.launch(p.tensors(), p.size);
  EXPECT_EQ(p.o.download().get(0), 0);
}

TEST_F(Gpu, MoreMemoryThanThereIsIsTheUsersError) {
  expect_error([] { DeviceBuffer(Device::open(0), std::size_t{1} << 50); }, {"allocate 1125899906842624 bytes"});
}

TEST_F(Gpu, NoSuchDevice) {
  expect_error([] { Device::open(1000); }, {"no GPU 1000"});
}

TEST_F(Gpu, MeasuresCopies) {
  const Device device = Device::open(0);
  const double ms = copy_bytes_ms(device, std::int64_t{1} << 28);
  EXPECT_GT(ms, 0);
  EXPECT_LT(ms, 1000);
  expect_error([&] { time_ms(device, nullptr, [](StreamHandle) {}, 1, 0); }, {"0 repetitions"});
}

}  // namespace
}  // namespace wkvc
