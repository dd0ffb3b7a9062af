! Main fills an array that a parallel loop uses.
program loop
  implicit none
  integer, parameter :: n = 200000
  real(8), allocatable :: x(:)
  real(8) :: total
  integer :: i, r
  allocate(x(n))
  do i = 1, n
     x(i) = i
  end do
  total = 0
  do r = 1, 4
!$omp parallel do schedule(static) num_threads(4) reduction(+:total)
     do i = 1, n
        total = total + x(i)
        x(i) = x(i) + 1
     end do
!$omp end parallel do
  end do
  print '(f16.0)', total
end program loop
